package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func filter(t *testing.T, texts ...string) Filter {
	t.Helper()
	f, err := ParseFilter(texts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func next(t *testing.T, w *Watcher) map[string]any {
	t.Helper()
	select {
	case text := <-w.Lines:
		var out map[string]any
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return out
	case <-time.After(patience):
		t.Fatal("no line came")
		return nil
	}
}

func watched(e *accesslog.Entry) { e.Flags = accesslog.Watched }

func TestSeveralWatchersSeeTheFarmTheyWatch(t *testing.T) {
	off := config(nil)
	off.Farms[0].HTTP.Logs = false
	off.Farms[0].HTTP.AccessLog.Redact = []string{"x-mine"}
	a := newAppliance(t, off)
	eventually(t, func() bool { return a.pump.Stats().Recorded == 0 })
	one, err := a.pump.Watch(1, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := a.pump.Watch(1, filter(t, "status=5xx"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := a.pump.Watch(2, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return a.segment.Watched(1) && a.segment.Watched(2) })
	a.put(func(e *accesslog.Entry) {
		watched(e)
		e.Header("X-Mine", []byte("secret"))
		e.Header("Cookie", []byte("secret"))
	})
	a.put(func(e *accesslog.Entry) { watched(e); e.Status = 503 })
	l := next(t, one)
	if l["status"] != 200.0 || l["path"] == nil || l["tries"] != 1.0 || l["first_byte_us"] != 2100.0 {
		t.Errorf("%v", l)
	}
	if h := l["headers"].(map[string]any); h["X-Mine"] != mask || h["Cookie"] != mask {
		t.Errorf("headers %v", h)
	}
	if l := next(t, one); l["status"] != 503.0 {
		t.Errorf("%v", l)
	}
	if l := next(t, two); l["status"] != 503.0 {
		t.Errorf("%v", l)
	}
	if len(other.Lines)+len(one.Lines)+len(two.Lines) != 0 {
		t.Error("a watcher got lines of another farm")
	}
	if kept := string(a.pump.Traced()); strings.Count(kept, "\n") != 2 || strings.Contains(kept, "secret") || !strings.Contains(kept, `"status":503`) {
		t.Errorf("the traced lines are %s", kept)
	}
	one.Close()
	one.Close()
	if !a.segment.Watched(1) {
		t.Error("the farm is no longer watched, though a watcher is left")
	}
	two.Close()
	if a.segment.Watched(1) {
		t.Error("the farm is still watched without watchers")
	}
}

func TestSlowWatcherLosesLinesAndIsNotified(t *testing.T) {
	a := newAppliance(t, config(nil))
	w, err := a.pump.Watch(1, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	eventually(t, func() bool { return a.segment.Watched(1) })
	const n = 2500
	for range n {
		a.put(nil)
	}
	a.lines("shop.log", n)
	seen := uint64(len(w.Lines))
	if missed := w.Missed(); seen > watchQueue || seen < watchRate/2 || seen+missed != n {
		t.Errorf("%d seen, %d missed of %d", seen, missed, n)
	}
	if w.Missed() != 0 {
		t.Error("missed lines were reported twice")
	}
}

func TestWatchersAreBoundedAndEndWithThePump(t *testing.T) {
	a := newAppliance(t, config(nil))
	var all []*Watcher
	for range MaxWatchers {
		w, err := a.pump.Watch(1, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	if _, err := a.pump.Watch(1, Filter{}); !errors.Is(err, ErrWatchers) {
		t.Errorf("one more: %v", err)
	}
	all[0].Close()
	w, err := a.pump.Watch(2, Filter{})
	if err != nil {
		t.Errorf("after one left: %v", err)
	}
	a.stop()
	if _, open := <-w.Lines; open {
		t.Error("the channel is open after the end")
	}
	w.Close()
}

func TestTheLastLinesThatWereWatchedAreKept(t *testing.T) {
	var p Pump
	if got := p.Traced(); len(got) != 0 {
		t.Errorf("before anybody watched: %q", got)
	}
	p.hub.recent.keep(bytes.Repeat([]byte{'x'}, recentSize+1)) // does not displace the others
	for i := range 10 {
		p.hub.recent.keep(bytes.Repeat([]byte{byte('0' + i)}, recentSize/4))
	}
	lines := bytes.Split(bytes.TrimSuffix(p.Traced(), []byte("\n")), []byte("\n"))
	if len(lines) != 4 || lines[0][0] != '6' || lines[3][0] != '9' || len(p.hub.recent.lines) != 4 || p.hub.recent.size != recentSize {
		t.Errorf("%d lines, the first begins with %q", len(lines), lines[0][:1])
	}
}

func TestFilterMatchesItsConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"status=200": true, "status=2xx": true, "status=2XX": true, "status=404": false, "status=5xx": false,
		"method=get": true, "method=POST": false, "host=www.example.org": true, "path=/shop": true, "path=/blog": false,
		"service=web": true, "service=x": false, "backend=10.0.0.1:80": true, "client=198.51.100.0/24": true, "client=198.51.100.7": true,
		"client=10.0.0.0/8": false, "min_ms=2.5": true, "min_ms=3": false, "flag=reused": true, "flag=retried": false, "decision=cookie": true, "decision=pin": false,
		"request_id=0123456789abcdef0123456789abcdef": true, "rejection=timeout": false, "refusal=timeout": false,
	} {
		f := filter(t, text)
		roundTrip(nil, func(r *accesslog.Record) {
			var l line
			newBook(config(nil), nil, newClock(), func(*farm.Farm) *sink { return nil }).lookUp(&l, r)
			if f.passes(&l) != want {
				t.Errorf("%s: want %v", text, want)
			}
			both := filter(t, text, "method=GET")
			if both.passes(&l) != want {
				t.Errorf("%s and another that holds: want %v", text, want)
			}
		})
	}
	for _, bad := range []string{"", "status", "status=", "status=600", "status=9xx", "x=1", "min_ms=-1", "min_ms=x", "min_ms=NaN", "client=x"} {
		if _, err := ParseFilter([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
