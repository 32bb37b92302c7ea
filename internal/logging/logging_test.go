package logging_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/logging"
)

func logOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var flags logging.Flags
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Add(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	handler, err := flags.Handler(&out)
	if err != nil {
		return "", err
	}
	log := logr.FromSlogHandler(handler)
	log.Info("plain", "level", "high")
	log.V(4).Info("detail")
	log.V(5).Info("noise")
	log.Error(errors.New("broken"), "failed")
	var lines []string
	for line := range strings.Lines(out.String()) {
		_, rest, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "{") {
			_, rest, _ = strings.Cut(line, ",")
		}
		lines = append(lines, rest)
	}
	return strings.Join(lines, ""), nil
}

func TestFormats(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"text", nil, "level=INFO msg=plain level=high\nlevel=ERROR msg=failed err=broken\n"},
		{"verbose text", []string{"--v=4"}, "level=INFO msg=plain level=high\nv=4 msg=detail\nlevel=ERROR msg=failed err=broken\n"},
		{"json", []string{"--logging-format=json", "--v", "4"}, `"level":"INFO","msg":"plain","level":"high"}` + "\n" + `"v":4,"msg":"detail"}` + "\n" +
			`"level":"ERROR","msg":"failed","err":"broken"}` + "\n"},
		{"no format, and klog's flags", []string{"--logging-format=", "--logtostderr=true", "--alsologtostderr", "--stderrthreshold=2"},
			"level=INFO msg=plain level=high\nlevel=ERROR msg=failed err=broken\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := logOf(t, tt.args...)
			if err != nil || got != tt.want {
				t.Errorf("error %v, log:\n%s\nwant:\n%s", err, got, tt.want)
			}
		})
	}
}

func TestAnUnknownFormatSaysWhatThereIs(t *testing.T) {
	if _, err := logOf(t, "--logging-format=xml"); err == nil || !strings.Contains(err.Error(), "use text or json") {
		t.Errorf("error %v", err)
	}
}
