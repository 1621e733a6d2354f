package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
)

// The stop of the appliance is its last event: nothing looks for due messages after it.
func TestTheStopOfTheApplianceIsSentAtTheEnd(t *testing.T) {
	r := newReceiver(t)
	h := hooked(t, r)
	h.set(t, func(s *Settings) {
		s.Email.Kinds = []event.Kind{event.ApplianceStop, event.FarmStop}
		s.Webhooks[0].Kinds = s.Email.Kinds
	})
	h.Hear(event.Event{Kind: event.ApplianceStop, Severity: event.Info})
	h.Close()
	h.mu.Lock()
	mails := append([]mail.Message(nil), h.mails...)
	h.mu.Unlock()
	if len(mails) != 1 || !strings.Contains(mails[0].Text, "stop") {
		t.Errorf("mails %+v", mails)
	}
	if posts := r.got(t, 1); len(posts) != 1 || posts[0].Events[0].Kind != event.ApplianceStop {
		t.Errorf("posts %+v", posts)
	}
}

// Events that were collected for a later message go out, or wait for the next process.
func TestEventsThatWereCollectedAreNotLostAtTheEnd(t *testing.T) {
	h := newHouse(t)
	h.set(t, func(s *Settings) { s.Email.Kinds = []event.Kind{event.FarmStop} })
	stop := func(name string) {
		h.Hear(event.Event{Kind: event.FarmStop, Facts: event.Facts("FARM", name)})
		h.sendDigests(h.options.Now())
	}
	stop("first") // sent at once
	if mails := h.took(t); len(mails) != 1 {
		t.Fatalf("mails %+v", mails)
	}
	h.pass(time.Second)
	stop("second") // collected
	if n := len(h.took(t)); n != 1 {
		t.Fatalf("%d mails at once", n)
	}
	h.answers(func(mail.Message) []*mail.Failure { return refusedMail("ops@example.com", false) })
	h.Close()
	h.answers(nil)
	h.Manager = h.manager()
	if mails := h.took(t); !strings.Contains(mails[len(mails)-1].Text, "second") {
		t.Errorf("mails %+v", mails)
	}
}
