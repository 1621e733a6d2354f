package table_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestRecordNamesTheClientATrustedPeerSpeaksFor(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	for _, c := range []struct {
		trusted []string
		fields  []string
		want    string
	}{
		{nil, []string{"X-Forwarded-For: 192.0.2.1"}, "127.0.0.1"},
		{[]string{"10.0.0.0/8"}, []string{"X-Forwarded-For: 192.0.2.1"}, "127.0.0.1"},
		{[]string{"127.0.0.1/32"}, nil, "127.0.0.1"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: 192.0.2.9, 192.0.2.1"}, "192.0.2.1"}, // the first is only claimed by the client
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"X-Forwarded-For: 192.0.2.9, 192.0.2.1 ,10.0.0.7"}, "192.0.2.1"},
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.0.0.7"}, "192.0.2.1"},
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"X-Forwarded-For: 10.0.0.8,10.0.0.7"}, "10.0.0.8"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: [2001:db8::1]:4711"}, "2001:db8::1"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: ::ffff:192.0.2.1"}, "192.0.2.1"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: unknown"}, "127.0.0.1"},
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"X-Forwarded-For: 192.0.2.1, _hidden, 10.0.0.7"}, "10.0.0.7"},
		{[]string{"127.0.0.1/32"}, []string{"X-Forwarded-For: ,,"}, "127.0.0.1"},
	} {
		addr := a.Serve(func(h *farm.HTTP) { h.Logs, h.Trusted = true, l7test.Networks(c.trusted...) }, l7test.Service("web", b.Addr))
		l7test.Dial(t, addr).Send(l7test.Request(c.fields...)).Get()
		if l := r.Next(); l.Client != c.want {
			t.Errorf("trusted %v, %q: %s, want %s", c.trusted, c.fields, l.Client, c.want)
		}
	}
}
