// Command floor is the cheapest honest admission endpoint, the no-op that the benchmarks refer to: TLS, HTTP, decode
// the AdmissionReview's envelope and the Pod's labels, answer allowed. What a real server spends above it is what its
// features cost.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"time"
)

func main() {
	cert, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{
		Addr:      os.Args[1],
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}},
		Handler:   http.HandlerFunc(allow),
	}
	log.Fatal(srv.ListenAndServeTLS("", ""))
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
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "floor"},
		NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
