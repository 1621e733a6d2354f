package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificate is a certificate as shown to scrapers.
type Certificate struct {
	Name     string
	NotAfter time.Time
	Used     bool // a farm, service or setting uses it
}

// certificateDescs are the metrics of certificates.
type certificateDescs struct{ expiry, used *prometheus.Desc }

func newCertificateDescs(desc func(name, help string, labels ...string) *prometheus.Desc) certificateDescs {
	return certificateDescs{
		expiry: desc("certificate_expiry_timestamp_seconds", "When the certificate expires, in seconds since 1970.", "certificate"),
		used:   desc("certificate_used", "Whether a farm, a service or a setting names the certificate.", "certificate"),
	}
}

func (d *certificateDescs) describe(ch chan<- *prometheus.Desc) { ch <- d.expiry; ch <- d.used }

func (d *certificateDescs) collect(ch chan<- prometheus.Metric, list []Certificate) {
	for _, c := range list {
		ch <- gauge(d.expiry, float64(c.NotAfter.Unix()), c.Name)
		ch <- gauge(d.used, truth(c.Used), c.Name)
	}
}
