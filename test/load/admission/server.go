package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/test/load/process"
)

// server is a process under measurement.
type server struct {
	*process.Process
	name     string
	exchange exchange
	log      string
}

// start runs a server and waits until it answers.
func start(ctx context.Context, dir, name string, e exchange, argv ...string) (*server, error) {
	s := &server{name: name, exchange: e, log: filepath.Join(dir, name+".log")}
	var err error
	if s.Process, err = process.Start(s.log, argv...); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *server) awaitReady(ctx context.Context) error {
	client := newClient(1)
	defer client.CloseIdleConnections()
	for {
		if err := s.exchange.post(ctx, client); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s (see %s): %w", s.name, s.log, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
