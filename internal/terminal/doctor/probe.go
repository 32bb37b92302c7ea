package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/controllers/admissionlive"
)

const (
	// probeNamespace is where the controllers' readiness asks for its Pod: one that admission covers.
	probeNamespace = "kruise-daemon-config"
	// probes is how many Pods are asked for: enough for a median that one slow answer does not spoil.
	probes = 5
	// slow is where people notice, and a fifth of the webhook's default timeout.
	slow = time.Second
)

// checkProbe asks the API server for Pods as dry runs, which goes all the way that a Pod goes.
func checkProbe(ctx context.Context, d *Doctor, r *report) error {
	object := "Namespace " + probeNamespace
	var took []time.Duration
	for range probes {
		start := time.Now()
		if err := admissionlive.Ask(ctx, d.api, probeNamespace); err != nil {
			if d.judgeProbe(r, object, err) {
				return nil
			}
			if severityOf(err) == Info {
				return err
			}
			r.add(Error, object, err.Error(), "admission does not work there, and probably nowhere",
				fmt.Sprintf("kubectl -n %s get pods; kubectl -n %[1]s logs deploy/kruise-webhook", d.config.Namespace))
			return nil
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	judgeLatency(r, object, took[len(took)/2], took[len(took)-1], d.config.TimeoutSeconds)
	return nil
}

func judgeLatency(r *report, object string, median, most time.Duration, timeoutSeconds int32) {
	said := fmt.Sprintf("a dry-run Pod takes %s (median of %d, at most %s), the API server's own work included", rounded(median), probes, rounded(most))
	if median < slow {
		r.add(Info, object, said, "", "")
		return
	}
	r.add(Warning, object, said, fmt.Sprintf("the webhooks' timeout is %d s; Pods are created slowly", timeoutSeconds),
		"add replicas or CPU: see fairlead_webhook_request_duration_seconds and fairlead_webhook_requests_shed_total")
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
