// Package bundles downloads OPA's bundles over HTTP, again and again, and puts them into force as users' policies. The last
// good version of each is kept in a directory, from which a replica that starts while the server is away serves it.
package bundles

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

const (
	// defaultPoll is how often a bundle is asked for. An answer that it has not changed costs next to nothing.
	defaultPoll = 60 * time.Second
	// defaultTimeout is for a download with all that belongs to it.
	defaultTimeout = 30 * time.Second
	// defaultMiB and mostMiB are how large a bundle may be when it is unpacked. Rules of an organisation are some hundred KiB;
	// data is more, and held several times over while a version takes the place of another.
	defaultMiB = 8
	mostMiB    = 64
)

// Config is one bundle.
type Config struct {
	// Name is that of the set, bundle/NAME, and of the settings' label.
	Name string `json:"name"`
	// URL is where it is.
	URL string `json:"url"`
	// PollSeconds is how often it is asked for; 0 is 60.
	PollSeconds int `json:"pollSeconds,omitempty"`
	// TimeoutSeconds is for one download; 0 is 30.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// MaxMiB is how large it may be unpacked; 0 is 8, and 64 is the most.
	MaxMiB int `json:"maxMiB,omitempty"`
	// TokenFile has a bearer token, read for each request; "" for none.
	TokenFile string `json:"tokenFile,omitempty"`
	// CAFile has the CAs that the server's certificate is checked with; "" for those of the system.
	CAFile string `json:"caFile,omitempty"`
	// Key, if its file is set, is what the bundle's signature is checked with; unsigned bundles are refused then.
	Key Key `json:"key,omitzero"`
}

// Key checks signatures.
type Key struct {
	// File has a public key in PEM, or a shared secret.
	File string `json:"file,omitempty"`
	// ID is the keyid of signatures; "" is default.
	ID string `json:"id,omitempty"`
	// Algorithm is as RS256, the default, or ES256.
	Algorithm string `json:"algorithm,omitempty"`
	// Scope is that of signatures; "" for none.
	Scope string `json:"scope,omitempty"`
}

// Read reads a YAML list of bundles from a file.
func Read(path string) ([]Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of bundles: %w", err)
	}
	var list []Config
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("reading the list of bundles %s: %w", path, err)
	}
	var errs []error
	for i, c := range list {
		if err := c.check(); err != nil {
			errs = append(errs, fmt.Errorf("reading the list of bundles %s: [%d]: %w", path, i, err))
		}
		if slices.ContainsFunc(list[:i], func(other Config) bool { return other.Name == c.Name }) {
			errs = append(errs, fmt.Errorf("reading the list of bundles %s: [%d]: there is a bundle %s already", path, i, c.Name))
		}
	}
	return list, errors.Join(errs...)
}

func (c Config) check() error {
	if problems := validation.IsDNS1123Label(c.Name); len(problems) > 0 {
		return fmt.Errorf("name %q: %s", c.Name, strings.Join(problems, ", "))
	}
	at, err := url.Parse(c.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return fmt.Errorf("url %q: it must be as https://bundles.example.com/policies.tar.gz", c.URL)
	}
	if at.User != nil {
		return errors.New("url: it has a user and a password: use tokenFile")
	}
	if c.TokenFile != "" && at.Scheme != "https" {
		return errors.New("tokenFile: the token would be sent in the open: use https")
	}
	if c.PollSeconds < 0 || c.TimeoutSeconds < 0 {
		return errors.New("pollSeconds and timeoutSeconds must not be negative")
	}
	if c.MaxMiB < 0 || c.MaxMiB > mostMiB {
		return fmt.Errorf("maxMiB %d: it must be between 1 and %d", c.MaxMiB, mostMiB)
	}
	return nil
}

func (c Config) poll() time.Duration {
	if c.PollSeconds > 0 {
		return time.Duration(c.PollSeconds) * time.Second
	}
	return defaultPoll
}

func (c Config) timeout() time.Duration {
	if c.TimeoutSeconds > 0 {
		return time.Duration(c.TimeoutSeconds) * time.Second
	}
	return defaultTimeout
}

func (c Config) limit() int64 {
	if c.MaxMiB > 0 {
		return int64(c.MaxMiB) << 20
	}
	return defaultMiB << 20
}
