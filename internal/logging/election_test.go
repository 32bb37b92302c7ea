package logging_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/fairlead-io/fairlead/internal/logging"
)

// What an elector writes at 4 comes every other second, and installations have --v=4.
func TestElectionIsQuietAtTheVerbosityOfInstallations(t *testing.T) {
	for verbosity, want := range map[int][]string{
		0: {"got the lease"},
		4: {"got the lease", "slow path"},
		5: {"got the lease", "slow path"},
		6: {"got the lease", "slow path", "no lease"},
		7: {"got the lease", "slow path", "no lease", "renewed"},
	} {
		t.Run(fmt.Sprintf("v=%d", verbosity), func(t *testing.T) {
			var lines []string
			log := logging.Election(funcr.NewJSON(func(line string) { lines = append(lines, line) },
				funcr.Options{Verbosity: verbosity})).WithName("elector").WithValues("lock", "ours")
			log.Info("got the lease")
			log.V(2).Info("slow path")
			log.V(4).Info("no lease")
			log.V(5).Info("renewed")
			var wanted []string
			for _, message := range want {
				level := map[string]int{"slow path": 2, "no lease": 6, "renewed": 7}[message]
				wanted = append(wanted, fmt.Sprintf(`{"logger":"elector","level":%d,"msg":%q,"lock":"ours"}`, level, message))
			}
			if !slices.Equal(lines, wanted) {
				t.Errorf("got %q\nwant %q", lines, wanted)
			}
		})
	}
}

func TestElectionLogsErrors(t *testing.T) {
	var lines int
	logging.Election(funcr.New(func(string, string) { lines++ }, funcr.Options{})).Error(nil, "failed")
	logging.Election(logr.Discard()).Info("nobody hears this")
	if lines != 1 {
		t.Errorf("%d lines, want 1", lines)
	}
}

func TestOnlyTheElectionOfAManagerIsQuiet(t *testing.T) {
	var lines []string
	log := logging.Manager(funcr.New(func(prefix, line string) { lines = append(lines, prefix+line) }, funcr.Options{Verbosity: 4})).WithValues("a", 1)
	log.WithName("leaderelection").V(4).Info("no lease")
	log.WithName("pods").WithName("sync").V(4).Info("done")
	log.V(4).Info("cached")
	if want := []string{`pods/sync"level"=4 "msg"="done" "a"=1`, `"level"=4 "msg"="cached" "a"=1`}; !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
	if logging.Manager(logr.Discard()).GetSink() != nil {
		t.Error("what is written nowhere has a sink")
	}
}
