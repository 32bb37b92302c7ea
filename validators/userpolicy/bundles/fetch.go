package bundles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// answer is what the server said.
type answer struct {
	// tarball is nil if the bundle has not changed.
	tarball []byte
	etag    string
}

// fetch asks for a bundle, unless it still is the one with a tag; "" for any.
func (c Config) fetch(ctx context.Context, etag string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return answer{}, fmt.Errorf("asking for the bundle: %w", err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	if err := c.authorize(request); err != nil {
		return answer{}, err
	}
	client, err := c.client()
	if err != nil {
		return answer{}, err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("asking for the bundle: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read from
	switch response.StatusCode {
	case http.StatusNotModified:
		return answer{etag: etag}, nil
	case http.StatusOK:
		tarball, err := io.ReadAll(io.LimitReader(response.Body, c.limit()+1))
		if err != nil {
			return answer{}, fmt.Errorf("downloading the bundle: %w", err)
		}
		if int64(len(tarball)) > c.limit() {
			return answer{}, fmt.Errorf("downloading the bundle: it is larger than %d MiB: see maxMiB", c.limit()>>20)
		}
		return answer{tarball: tarball, etag: response.Header.Get("ETag")}, nil
	default:
		return answer{}, fmt.Errorf("asking for the bundle: %s answers %s", request.URL.Host, response.Status)
	}
}

func (c Config) authorize(request *http.Request) error {
	if c.TokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return fmt.Errorf("reading the token for the bundle: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

// client is made for each request: once a minute that costs nothing, and CAs that were renewed count.
func (c Config) client() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CAs for the bundle: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the CAs for the bundle: there is none in %s", c.CAFile)
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: c.redirect}, nil
}

const mostRedirects = 5

// redirect keeps to TLS where we began with it, and the token to the server that it is for: net/http would send it to other ports of
// that host and to hosts below it.
func (c Config) redirect(request *http.Request, via []*http.Request) error {
	if request.URL.Host != via[0].URL.Host {
		request.Header.Del("Authorization")
	}
	switch {
	case len(via) > mostRedirects:
		return errors.New("too many redirects")
	case strings.HasPrefix(c.URL, "https:") && request.URL.Scheme != "https":
		return fmt.Errorf("%s leads out of TLS", via[len(via)-1].URL.Host)
	default:
		return nil
	}
}
