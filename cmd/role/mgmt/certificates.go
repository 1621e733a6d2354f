package mgmt

import (
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/metrics"
	"github.com/sluicelb/sluice/mgmt/notify"
)

// openCertificates opens the certificates, including that of the API, which is created if
// missing. Farms may use both.
func (m *manager) openCertificates() (*certs.Book, error) {
	book, err := certs.Open(m.store, certs.Options{Dir: ".", Proxy: m.proxy, Log: slog.Default()})
	if err != nil {
		return nil, err
	}
	var why string
	if m.api, why, err = api.Certificate(".", time.Now(), system.Names(m.store)...); err != nil {
		return nil, err
	}
	if why != "" {
		slog.Info("made a self-signed certificate for the API", "reason", why)
	}
	return book, book.SetAppliance(m.api)
}

// certificatesResource makes the resource of certificates.
func (m *manager) certificatesResource() api.Resource {
	return certificates.New(certificates.Deps{Certificates: m.certs, ACME: m.acme, Activation: m.activation()})
}

// certificateChanged records a change of a certificate with its author.
func (m *manager) certificateChanged(c certs.Change) {
	cfg, _ := m.applier.Current()
	e := eventlog.Event{Kind: eventlog.Certificate, Severity: eventlog.Info, Text: "certificate " + c.Name + " was " + c.What, Detail: "by " + c.By.Name}
	if !c.NotAfter.IsZero() {
		e.Text += ", good until " + c.NotAfter.UTC().Format(time.DateOnly)
	}
	e.Farms, e.Farm = farmsOf(cfg, c.Name)
	m.events.Add(e)
}

// expiring returns the certificates with an expiry date.
func (m *manager) expiring(cfg *farm.Config) (out []notify.Certificate) {
	for _, v := range m.certs.List() {
		if v.NotAfter.IsZero() || v.CSR || v.Problem != "" {
			continue
		}
		out = append(out, notify.Certificate{Name: v.Name, Subject: v.CN, Serial: v.Fingerprint, NotAfter: v.NotAfter, UsedBy: certs.CertificateUsers(cfg, v.Name)})
	}
	if i, err := m.activation().Get(); err == nil {
		out = append(out, notify.Certificate{Name: "activation certificate", Subject: i.Hostname, Serial: i.Serial, NotAfter: i.NotAfter, Activation: true})
	}
	return out
}

// measuredCertificates lists the certificates for metrics.
func (m *manager) measuredCertificates(cfg *farm.Config) (out []metrics.Certificate) {
	for _, v := range m.certs.List() {
		if !v.CSR {
			out = append(out, metrics.Certificate{Name: v.Name, NotAfter: v.NotAfter, Used: len(certs.CertificateUsers(cfg, v.Name)) > 0})
		}
	}
	return out
}

// activation returns the store of the activation certificate.
func (m *manager) activation() *activation.Keeper { return &activation.Keeper{Store: m.store} }
