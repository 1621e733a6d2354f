package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

func TestChannelsGetTheirKindsAndSeverities(t *testing.T) {
	h := newHouse(t)
	down, start, limit := event.Event{Kind: event.BackendDown, Severity: event.Warning}, event.Event{Kind: event.FarmStart, Severity: event.Info}, event.Event{Kind: event.LimitReached, Severity: event.Warning}
	heard := func() string {
		var out []string
		for _, e := range []event.Event{down, start, limit} {
			s := h.Settings()
			out = append(out, fmt.Sprint(s.mails(e.Kind, e.Severity), h.ToSyslog(e), h.ToScripts(e)))
		}
		return strings.Join(out, ", ")
	}
	want := func(what, want string) {
		t.Helper()
		if got := heard(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	want("at first", "false true true, false true true, false true true")
	h.set(t)
	want("with a mail server", "true true true, false true true, true true true")
	h.set(t, func(s *Settings) { s.Syslog.Severity, s.Scripts.Kinds = event.Error, []event.Kind{event.FarmStart} })
	want("chosen", "true false false, false false true, true false false")
	h.set(t, func(s *Settings) { s.Syslog, s.Scripts = Way{}, Way{Off: true} })
	want("off", "true true false, false true false, true true false")
	h.set(t, func(s *Settings) { s.Email.Kinds = []event.Kind{event.BackendDown, event.FarmStart} })
	want("kinds of mails", "true true false, true true false, false true false")
	if err := h.Enable(root, Backends, false, nothing); err != nil {
		t.Fatal(err)
	}
	want("an alert that is disabled", "false true false, true true false, false true false")
	h.Close()
	h.Manager = h.manager()
	want("after a restart", "false true false, true true false, false true false")
	h.set(t, func(s *Settings) { s.Email.Kinds, s.Email.Severity = nil, event.Error })
	want("severity of mails", "false true false, false true false, false true false")
}

func TestMailExplainsHowToUnsubscribe(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.Kinds = []event.Kind{event.FarmStop, event.LimitReached} })
	for i, want := range []string{"`sluice notification email kinds=` with the kinds you want ends these mails", "`sluice notification disable limits` ends these mails"} {
		h.Hear(event.Event{Kind: []event.Kind{event.FarmStop, event.LimitReached}[i], Facts: event.Facts("FARM", "shop", "LIMIT", "maxconnections")})
		h.sendDigests(h.options.Now())
		h.pass(time.Hour)
		if mails := h.took(t); len(mails) != i+1 || !strings.Contains(mails[i].Text, want) {
			t.Errorf("%+v", mails)
		}
	}
}

func TestCertificatesAreMailedAsIsChosen(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.Severity = event.Error })
	list := []Certificate{{Name: "shop.pem", Serial: "1", NotAfter: h.now.Add(30 * time.Hour)}, {Name: "activation certificate", Serial: "2", NotAfter: h.now.Add(-time.Hour), Activation: true}}
	for range 2 * 24 {
		h.LookCertificates(func() []Certificate { return list })
		h.pass(time.Hour)
	}
	if got := subjects(t, h); len(got) != 2 || got[0] != "the certificate activation certificate has expired" || got[1] != "the certificate shop.pem has expired" {
		t.Errorf("%q", got)
	}
}
