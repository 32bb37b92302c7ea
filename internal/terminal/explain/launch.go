package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/launchpriority"
)

// The states of a container that waits for its turn.
const (
	launchWaits    = "Waits"
	launchMayStart = "MayStart"
	launchSettled  = "Settled"
)

// launch says how far the ordered start of a Pod is; nil for a Pod without one.
func launch(pod *corev1.Pod, barrier *corev1.ConfigMap) *Launch {
	e := launchpriority.Explain(pod, barrier)
	if e == nil {
		return nil
	}
	l := &Launch{ConfigMap: e.ConfigMap, Next: next(pod, e)}
	for _, start := range e.Starts {
		c := LaunchContainer{Name: start.Container, Priority: start.Priority, Key: start.Key, State: launchWaits, WaitsFor: start.Behind}
		switch {
		case start.Settled:
			c.State, c.WaitsFor = launchSettled, nil
		case start.Open:
			c.State = launchMayStart
		}
		l.Containers = append(l.Containers, c)
	}
	return l
}

func next(pod *corev1.Pod, e *launchpriority.Explanation) string {
	if pod.UID == "" {
		return "the containers will start in the order of their priorities, the highest first"
	}
	if e.Over {
		return "nothing more is to do: all containers may start, or the Pod ends"
	}
	switch e.Next.Write {
	case launchpriority.Create, launchpriority.Open, launchpriority.TakeOver:
		return fmt.Sprintf("kruise-controller-manager is about to add the key %s to ConfigMap %s; if that lasts, does it run?", e.Next.Key, e.ConfigMap)
	case launchpriority.Await:
		return fmt.Sprintf("ConfigMap %s of an earlier Pod is being deleted; once it is gone, it is made anew", e.ConfigMap)
	default:
		if e.Next.Complete {
			return "all containers may start"
		}
		return "the next key is added when the containers that may start are ready, or have done their work"
	}
}
