package role

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

// collectors brings the servers of remote syslog to the sender of messages: it is the
// part of the machine's settings that mgmt does itself.
type collectors struct {
	remote      *syslog.Remote
	authorities func(name string) ([]byte, error)
}

// Check implements apply.Machine: what can be wrong with a server the rules say.
func (collectors) Check(context.Context, *farm.System, *farm.System) error { return nil }

// Settle implements apply.Machine. A server that does not answer is no problem of the
// setting: what is sent waits for it.
func (c collectors) Settle(_ context.Context, s *farm.System) map[string]string {
	var list []syslog.Server
	for _, server := range s.Syslog.Servers {
		one := syslog.Server{Target: syslog.Target{Protocol: syslog.Protocol(server.Protocol), Address: server.Address()}, Drop: syslog.DropOldest}
		if ca := s.Syslog.CA; ca != "" && server.Protocol == farm.SyslogTLS {
			one.Key, one.Roots = ca, func() (*x509.CertPool, error) { return poolOf(ca, c.authorities) }
		}
		list = append(list, one)
	}
	c.remote.Set(list)
	return nil
}

// poolOf is a list of authorities.
func poolOf(name string, authorities func(name string) ([]byte, error)) (*x509.CertPool, error) {
	pem, err := authorities(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the list of authorities " + name + " is empty")
	}
	return pool, nil
}

// authorities are the lists of them; nobody asks before mgmt is put together.
func (m *manager) authorities(name string) ([]byte, error) { return m.certs.DownloadAuthority(name) }

// logElsewhere makes what mgmt logs and keeps of calls go to remote syslog, too.
func (m *manager) logElsewhere() {
	here := slog.Default()
	m.remote = syslog.NewRemote(here, nil)
	slog.SetDefault(slog.New(syslog.NewHandler(here.Handler(), m.remote, "mgmt")))
}

// tell tells of an event by every way that is for it, and keeps it for the timeline.
func (m *manager) tell(e event.Event) {
	n := m.notify
	if n == nil || n.ToSyslog(e) { // early in the start all are for everything
		m.toSyslog(e)
	}
	if n == nil || n.ToScripts(e) {
		m.scripts.Tell(e)
	}
	if n != nil {
		n.Hear(e)
	}
	m.noted(e)
}

// toSyslog sends an event to remote syslog, or logs it here where no server is set.
func (m *manager) toSyslog(e event.Event) {
	if m.remote.Active() {
		m.remote.Send(eventMessage(e))
		return
	}
	level := map[event.Severity]slog.Level{event.Warning: slog.LevelWarn, event.Error: slog.LevelError}[e.Severity]
	attrs := []slog.Attr{slog.String("event", string(e.Kind))}
	for _, name := range subjects {
		if value := e.Fact(strings.ToUpper(name)); value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	slog.LogAttrs(context.Background(), level, e.Text(), attrs...)
}

// subjects are the facts that say what an event is about.
var subjects = []string{"farm", "service", "backend", "revision", "certificate", "limit"}

// eventMessage is an event as a message; what is known of it is structured data.
func eventMessage(e event.Event) syslog.Message {
	out := syslog.Message{Facility: syslog.Daemon, Severity: syslog.Notice, Time: e.At, ID: syslog.IDEvent, Text: string(e.Kind)}
	switch e.Severity {
	case event.Warning:
		out.Severity = syslog.Warning
	case event.Error:
		out.Severity = syslog.Error
	}
	data := syslog.Element{Name: "event", Params: []syslog.Param{{Name: "kind", Value: string(e.Kind)}, {Name: "severity", Value: string(e.Severity)}}}
	for _, fact := range e.Facts {
		name, value, _ := strings.Cut(strings.TrimPrefix(fact, "SLUICE_"), "=")
		if value == "" {
			continue
		}
		name = strings.ToLower(name)
		data.Params = append(data.Params, syslog.Param{Name: name, Value: value})
		if slices.Contains(subjects, name) {
			out.Text += " " + name + "=" + value
		}
	}
	out.Data = []syslog.Element{data}
	return out
}

// proxy is what connections of the appliance go through now.
func (m *manager) proxy() outbound.Proxy {
	cfg, _ := m.applier.Current()
	return outbound.Proxy{
		Plain:  m.proxyAddress(cfg.System.Proxy.ForHTTP, farm.SecretHTTPProxy),
		Secure: m.proxyAddress(cfg.System.Proxy.ForHTTPS, farm.SecretHTTPSProxy),
	}
}

// proxyAddress is the address of a proxy with its password. Nothing goes past a proxy
// whose password cannot be read: what is asked for fails there, with the reason.
func (m *manager) proxyAddress(p farm.ProxyServer, purpose string) string {
	at, err := p.Address(func(s farm.Secret) (string, error) { return apply.Reveal(m.certs, purpose, s) })
	switch {
	case err != nil:
		slog.Warn("the password of the proxy cannot be read: set it again", "error", err)
		return p.URL
	case at == nil:
		return ""
	}
	return at.String()
}

// notifier sends mails, and messages to webhooks.
func (m *manager) notifier(book *certs.Book) *notify.Manager {
	return notify.New(notify.Options{Store: m.store, Secrets: book, Authorities: m.authorities, Proxy: m.proxy, Tell: m.tell, Log: slog.Default()})
}

// whyDown says why a backend is down or cannot be asked, where that is known.
func (m *manager) whyDown(backend uint32) string {
	if e, is := m.health.Slot(backend).Ejection(); is && time.Now().Before(e.Until) {
		return "is ejected: " + e.Why()
	}
	if why := m.guardian.Why(backend); why != "" {
		return why
	}
	return m.watch.silent.Problem(backend)
}

// activation keeps the activation certificate.
func (m *manager) activation() *activation.Keeper { return &activation.Keeper{Store: m.store} }

// expiring are the certificates that can expire.
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

// allowOutbound lets mgmt connect to the local addresses that the instance was started with.
func allowOutbound() error {
	list, err := outbound.ParseAllowed(os.Getenv(supervisor.OutboundAllowVariable))
	if err == nil {
		outbound.Allow(list)
	}
	return err
}
