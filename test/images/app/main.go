// Command app is the program in the test images. Its first argument says what it does:
//
//	web            answer 200 with $VERSION to every request on port 8080
//	wait           do nothing
//	exit AFTER CODE  end with CODE after a duration
//
// As process 1 of a container it gets no default action of signals, so it ends at once on SIGTERM by itself.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ended
		os.Exit(0)
	}()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	version := os.Getenv("VERSION")
	switch {
	case len(args) == 1 && args[0] == "web":
		fmt.Println("serving", version)
		return http.ListenAndServe(":8080", web(version))
	case len(args) == 1 && args[0] == "wait":
		fmt.Println("waiting", version)
		select {}
	case len(args) == 3 && args[0] == "exit":
		return exit(args[1], args[2], version)
	}
	return fmt.Errorf("arguments %q: want web, wait, or exit AFTER CODE", args)
}

// web answers every request with the version.
func web(version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		_, _ = fmt.Fprintln(w, version) // a client that went away is its own affair
	})
}

func exit(after, code, version string) error {
	wait, err := time.ParseDuration(after)
	if err != nil {
		return fmt.Errorf("reading how long to wait: %w", err)
	}
	status, err := strconv.Atoi(code)
	if err != nil {
		return fmt.Errorf("reading the exit code: %w", err)
	}
	fmt.Println("ending with", status, "in", wait, version)
	time.Sleep(wait)
	os.Exit(status)
	return nil
}
