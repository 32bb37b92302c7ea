// Command chartfiles writes the policies into a folder of the chart, which installs what the feature gates of its values ask for.
package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/validators/native"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: chartfiles FOLDER")
	}
	for name, policies := range native.Parts() {
		var text bytes.Buffer
		err := native.Write(&text, policies)
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name+".yaml"), text.Bytes(), 0o644)
		}
		if err != nil {
			log.Fatalf("writing the policies of the chart: %v", err)
		}
	}
}
