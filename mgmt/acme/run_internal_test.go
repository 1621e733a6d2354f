package acme

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs"
)

func TestNextCheckIsAtTenInTheEvening(t *testing.T) {
	zone := time.FixedZone("", 3*3600)
	for clock, want := range map[string]time.Duration{
		"00:00:00": 22 * time.Hour, "20:59:59": time.Hour + time.Second, "21:00:00": 25 * time.Hour,
		"22:00:00": 24 * time.Hour, "22:59:59": 23*time.Hour + time.Second, "23:30:00": 22*time.Hour + 30*time.Minute,
	} {
		now, err := time.ParseInLocation(time.DateTime, "2026-01-31 "+clock, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := untilLook(now); got != want {
			t.Errorf("at %s: in %s, want %s", clock, got, want)
		}
	}
}

// looks counts the iterations over the list of certificates.
type looks struct {
	*fakes
	at []time.Time
}

func (l *looks) Get(name string) (certs.View, error) {
	l.at = append(l.at, time.Now().UTC())
	return l.fakes.Get(name)
}

func TestCertificatesAreCheckedAfterStartAndEveryEvening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &looks{fakes: &fakes{settings: map[string]string{recordsName: `{"a.pem":{"domains":["a"],"leaves":["ab"],"auto":true}}`}, views: map[string]certs.View{}}}
		m := New(Options{Store: f, Certificates: f, Applier: f, Responder: &Responder{}})
		time.Sleep(time.Until(time.Date(2026, 1, 1, 21, 30, 0, 0, time.Local)))
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { m.Run(ctx); close(ended) }()
		time.Sleep(4 * 24 * time.Hour)
		cancel()
		<-ended
		if len(f.at) != 4 || f.at[0].Sub(began) > 10*time.Minute {
			t.Fatalf("looks at %v, from %s on", f.at, began)
		}
		for i, at := range f.at[1:] {
			evening := time.Date(2026, 1, 2+i, 22, 0, 0, 0, time.Local)
			if at.Before(evening) || !at.Before(evening.Add(time.Hour)) {
				t.Errorf("looked at %s", at)
			}
		}
	})
}

// A due certificate waits for the order in progress, but no longer than the process lives.
func TestWaitingCheckEndsWithTheProcess(t *testing.T) {
	m, f := newFakes(nil)
	m.records["a.pem"] = record{Domains: []string{"a"}, Leaves: []string{"ab"}, Renewal: Renewal{Auto: true}}
	f.views["a.pem"] = certs.View{Name: "a.pem", Fingerprint: "AB", NotBefore: noon.AddDate(0, 0, -90), NotAfter: noon}
	m.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Look(ctx)
	if v, err := m.Get("a"); err != nil || !v.Tried.IsZero() {
		t.Errorf("it was tried all the same: %+v, %v", v, err)
	}
	<-m.turn
	m.Look(t.Context())
	if v, err := m.Get("a"); err != nil || !v.Tried.Equal(noon) || v.Failure == "" {
		t.Errorf("it was not tried: %+v, %v", v, err)
	}
	if len(m.turn) != 0 {
		t.Error("the turn was not released")
	}
}
