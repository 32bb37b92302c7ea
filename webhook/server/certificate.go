package server

import (
	"crypto/tls"
	"errors"
	"time"
)

const (
	// certificateWait is how long a handshake waits for the first certificate, which takes a starting replica some tenths
	// of a second; a handshake that fails is a request that fails. It ends before writeTimeout does.
	certificateWait = 3 * time.Second
	certificatePoll = 20 * time.Millisecond
)

// certificate is the serving certificate, once there is one.
func (s *Server) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.cert == nil {
		return nil, errors.New("there is no serving certificate")
	}
	for start := time.Now(); ; {
		served, err := s.cert(hello)
		if err == nil || time.Since(start) >= certificateWait {
			return served, err
		}
		select {
		case <-hello.Context().Done():
			return nil, err
		case <-time.After(certificatePoll):
		}
	}
}
