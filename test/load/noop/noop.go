// Package noop is the cheapest honest admission endpoint, which the benchmarks refer to: TLS, HTTP, decode the
// AdmissionReview's envelope and the Pod's labels, answer allowed. What a real server spends above it is what its features
// cost.
package noop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"time"
)

// Serve serves on an address until it fails. before, if it is not nil, is done for each request before the answer.
func Serve(address string, before func(context.Context) error) error {
	cert, err := selfSigned()
	if err != nil {
		return err
	}
	srv := &http.Server{
		Addr:      address,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}},
		Handler:   http.HandlerFunc(allow),
	}
	if before != nil {
		srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := before(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			allow(w, r)
		})
	}
	return srv.ListenAndServeTLS("", "")
}

func allow(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var review struct {
		Request struct {
			UID    string
			Object struct {
				Metadata struct{ Labels map[string]string }
			}
		}
	}
	if err := json.Unmarshal(body, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"response": map[string]any{"uid": review.Request.UID, "allowed": true},
	})
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "noop"},
		NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
