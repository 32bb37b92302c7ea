package policyaudit

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/gauge"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// metrics tell what audits found, by the names of sets, of which there are few: never by objects.
type metrics struct {
	violations, scanned, failed, incomplete *prometheus.GaugeVec
	last, seconds, interval                 prometheus.Gauge
}

func newMetrics(interval time.Duration) *metrics {
	m := &metrics{
		violations: gauge.By("fairlead_policy_audit_violations",
			"What the last audit found in objects that exist, by set of users' policies and action.", "set", "action"),
		scanned: gauge.By("fairlead_policy_audit_objects", "Objects that the last audit asked a set about.", "set"),
		failed: gauge.By("fairlead_policy_audit_failed_objects",
			"Objects for which the last audit had no decision of a set; the annotation fairlead.io/policy-audit says why.", "set"),
		incomplete: gauge.By("fairlead_policy_audit_incomplete",
			"1 if the last audit could not look at all that a set matches; the annotation fairlead.io/policy-audit says why.", "set"),
		last:     gauge.One("fairlead_policy_audit_last_run_timestamp_seconds", "When the last audit of all sets ended; 0 before the first."),
		seconds:  gauge.One("fairlead_policy_audit_duration_seconds", "How long that took, pauses included."),
		interval: gauge.One("fairlead_policy_audit_interval_seconds", "How often all sets are to be audited."),
	}
	m.interval.Set(interval.Seconds())
	return m
}

// register makes the metrics seen, and gives what takes them away again: a process may lead more than once.
func (m *metrics) register(registry prometheus.Registerer) (unregister func(), err error) {
	all := []prometheus.Collector{m.violations, m.scanned, m.failed, m.incomplete, m.last, m.seconds, m.interval}
	for i, one := range all {
		if err := registry.Register(one); err != nil {
			for _, earlier := range all[:i] {
				registry.Unregister(earlier)
			}
			return nil, fmt.Errorf("registering the metrics of the audit: %w", err)
		}
	}
	return func() {
		for _, one := range all {
			registry.Unregister(one)
		}
	}, nil
}

// ran notes an audit that ended. One of some sets alone says nothing about the others.
func (m *metrics) ran(at time.Time, took time.Duration, all bool) {
	if all {
		m.last.Set(float64(at.Unix()))
		m.seconds.Set(took.Seconds())
	}
}

// found notes what an audit found of a set.
func (m *metrics) found(s *subject) {
	if !s.wants() {
		m.forget(s.name)
		return
	}
	for _, action := range []userpolicy.Action{userpolicy.Deny, userpolicy.Warn, userpolicy.DryRun} {
		m.violations.WithLabelValues(s.name, string(action)).Set(float64(s.tally.actions[action]))
	}
	m.scanned.WithLabelValues(s.name).Set(float64(s.tally.scanned))
	m.failed.WithLabelValues(s.name).Set(float64(s.tally.failed))
	m.incomplete.WithLabelValues(s.name).Set(float64(boolean(len(s.tally.missing)+s.tally.failed > 0)))
}

// forget drops the series of a set.
func (m *metrics) forget(set string) {
	m.violations.DeletePartialMatch(prometheus.Labels{"set": set})
	m.scanned.DeleteLabelValues(set)
	m.failed.DeleteLabelValues(set)
	m.incomplete.DeleteLabelValues(set)
}
