// Package balancer is to an API server what a Service is: each new connection goes to a replica, and connections that exist are
// left alone.
package balancer

import (
	"io"
	"net"
	"testing"
)

// Start forwards connections until the test ends, each to the address that pick says then; it is refused where that is "".
// It returns where it listens.
func Start(t *testing.T, pick func() string) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(conn, pick)
		}
	}()
	return listener.Addr()
}

func forward(conn net.Conn, pick func() string) {
	defer func() { _ = conn.Close() }()
	address := pick()
	if address == "" {
		return
	}
	backend, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = backend.Close() }()
	ended := make(chan struct{}, 2)
	for _, pipe := range [][2]net.Conn{{conn, backend}, {backend, conn}} {
		go func() {
			_, _ = io.Copy(pipe[0], pipe[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
