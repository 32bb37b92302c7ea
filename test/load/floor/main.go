// Command floor serves the no-op that the benchmarks refer to, on the address that it is given.
package main

import (
	"log"
	"os"

	"github.com/fairlead-io/fairlead/test/load/noop"
)

func main() { log.Fatal(noop.Serve(os.Args[1], nil)) }
