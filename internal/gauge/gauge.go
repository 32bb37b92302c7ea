// Package gauge makes gauges, which need nothing but a name and a sentence.
package gauge

import "github.com/prometheus/client_golang/prometheus"

// One is a gauge without labels.
func One(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// By is a gauge for each value of labels.
func By(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}
