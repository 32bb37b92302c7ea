package certs

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// Keys of the Secret. The first two are those of OpenKruise (webhook-server.md §3.1), whose other keys (key.pem,
// cert.pem, tls.key, tls.crt) are left alone: its Pods may still be serving, and going back must work.
const (
	currentCertKey  = "ca-cert.pem"
	currentKeyKey   = "ca-key.pem"
	nextCertKey     = "next-ca-cert.pem"
	nextKeyKey      = "next-ca-key.pem"
	promoteAfterKey = "next-ca-promote-after"
	previousKey     = "previous-ca-cert.pem"
	dropAfterKey    = "previous-ca-drop-after"
)

var ourKeys = []string{currentCertKey, currentKeyKey, nextCertKey, nextKeyKey, promoteAfterKey, previousKey, dropAfterKey}

// state is what the Secret says.
type state struct {
	// current signs leaves; nil if there is none that could.
	current *ca
	// next is staged; nil if none is.
	next         *ca
	promoteAfter time.Time
	// previous are trusted until dropAfter.
	previous  []*x509.Certificate
	dropAfter time.Time
}

// decode reads the Secret's data. What is not usable is left out and complained about: the state that remains is what
// there is to work with.
func decode(data map[string][]byte) (state, []error) {
	var s state
	var complaints []error
	complain := func(key string, err error) {
		complaints = append(complaints, fmt.Errorf("reading key %s of the Secret: %w", key, err))
	}
	var err error
	if len(data[currentCertKey])+len(data[currentKeyKey]) > 0 {
		if s.current, err = parseCA(data[currentCertKey], data[currentKeyKey]); err != nil {
			complain(currentCertKey, err)
		}
	}
	if len(data[nextCertKey]) > 0 {
		if s.next, err = parseCA(data[nextCertKey], data[nextKeyKey]); err != nil {
			complain(nextCertKey, err)
		} else if s.promoteAfter, err = time.Parse(time.RFC3339, string(data[promoteAfterKey])); err != nil {
			complain(promoteAfterKey, err)
		}
	}
	if len(data[previousKey]) > 0 {
		if s.previous, err = cert.ParseCertsPEM(data[previousKey]); err != nil {
			complain(previousKey, err)
		} else if s.dropAfter, err = time.Parse(time.RFC3339, string(data[dropAfterKey])); err != nil {
			complain(dropAfterKey, err)
		}
	}
	return s, complaints
}

// encode is the inverse of decode: the values of our keys, absent ones left out.
func (s state) encode() (map[string][]byte, error) {
	data := map[string][]byte{}
	if s.current != nil {
		data[currentCertKey], data[currentKeyKey] = s.current.certPEM, s.current.keyPEM
	}
	if s.next != nil {
		data[nextCertKey], data[nextKeyKey] = s.next.certPEM, s.next.keyPEM
		data[promoteAfterKey] = stamp(s.promoteAfter)
	}
	if len(s.previous) > 0 {
		previous, err := cert.EncodeCertificates(s.previous...)
		if err != nil {
			return nil, fmt.Errorf("encoding previous CAs: %w", err)
		}
		data[previousKey], data[dropAfterKey] = previous, stamp(s.dropAfter)
	}
	return data, nil
}

func stamp(t time.Time) []byte { return []byte(t.UTC().Format(time.RFC3339)) }

// merge puts our keys into the Secret's data and says whether that changed anything. The data itself is not touched.
func merge(data, ours map[string][]byte) (map[string][]byte, bool) {
	merged, changed := map[string][]byte{}, false
	for key, value := range data {
		if !slices.Contains(ourKeys, key) {
			merged[key] = value
		}
	}
	for _, key := range ourKeys {
		changed = changed || !bytes.Equal(data[key], ours[key])
		if value, ok := ours[key]; ok {
			merged[key] = value
		}
	}
	return merged, changed
}

// trusted lists every CA whose leaves may be met: the bundle.
func (s state) trusted() []*x509.Certificate {
	var all []*x509.Certificate
	for _, c := range []*ca{s.current, s.next} {
		if c != nil {
			all = append(all, c.cert)
		}
	}
	return append(all, s.previous...)
}

// trusts says whether a leaf signed by c would be accepted.
func (s state) trusts(c *x509.Certificate) bool {
	return slices.ContainsFunc(s.trusted(), func(other *x509.Certificate) bool { return sameCert(other, c) })
}
