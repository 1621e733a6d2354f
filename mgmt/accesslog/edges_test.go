package accesslog

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

// For any bytes from a client, a line is ASCII and shows the value of each byte.
func TestTextsOfClientsAreWrittenInASCII(t *testing.T) {
	for sent, want := range map[string]struct{ object, combined string }{
		"a~ ":                    {"a~ ", "a~ "},
		"\"\\/'":                 {`\"\\/'`, `\"\\/'`},
		"\x00\x1f\x7f":           {`\u0000\u001f\u007f`, `\x00\x1f\x7f`},
		"\t\r\n":                 {`\u0009\u000d\u000a`, `\x09\x0d\x0a`},
		"\u0080\u00e9\u07ff":     {`\u0080\u00e9\u07ff`, `\xc2\x80\xc3\xa9\xdf\xbf`},
		"\u0800\uffff":           {`\u0800\uffff`, `\xe0\xa0\x80\xef\xbf\xbf`},
		"\U00010000😀":            {`\ud800\udc00\ud83d\ude00`, `\xf0\x90\x80\x80\xf0\x9f\x98\x80`},
		"a\xffb\xc3":             {`a\ufffdb\ufffd`, `a\xffb\xc3`},
		"12345678\x01abcdefgh\"": {`12345678\u0001abcdefgh\"`, `12345678\x01abcdefgh\"`},
	} {
		edit := func(e *accesslog.Entry) { e.Begin(); e.Farm = 1; e.Agent([]byte(sent)) }
		if got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogAgent}}, edit); got != `{"user_agent":"`+want.object+"\"}\n" {
			t.Errorf("%q as an object: %s", sent, got)
		}
		if got := formatted(&farm.AccessLog{Format: farm.LogCombined}, edit); !strings.HasSuffix(got, ` "-" "`+want.combined+"\"\n") {
			t.Errorf("%q combined: %s", sent, got)
		}
	}
}

func TestDurationsAreRoundedToMicroseconds(t *testing.T) {
	for ns, want := range map[int64]string{-1: `{}`, 0: `{}`, 1: `{"queue_us":0}`, 499: `{"queue_us":0}`, 500: `{"queue_us":1}`, 1499: `{"queue_us":1}`, 1500: `{"queue_us":2}`, 3_600_000_000_000: `{"queue_us":3600000000}`} {
		if got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogQueue}}, func(e *accesslog.Entry) { e.Queue = ns }); got != want+"\n" {
			t.Errorf("%d ns: %s", ns, got)
		}
	}
	for ns, want := range map[int64]string{0: "2025-10-09T08:53:20.000000Z", 999: "2025-10-09T08:53:20.000000Z", 1000: "2025-10-09T08:53:20.000001Z", 999_999_999: "2025-10-09T08:53:20.999999Z", 1_000_000_000: "2025-10-09T08:53:21.000000Z"} {
		if got := formatted(&farm.AccessLog{Fields: []farm.LogField{farm.LogTime}}, func(e *accesslog.Entry) { e.Time = 1_760_000_000_000_000_000 + ns }); got != `{"time":"`+want+`"}`+"\n" {
			t.Errorf("%d ns: %s", ns, got)
		}
	}
}

func TestInvalidFiltersAreRefusedWithAReason(t *testing.T) {
	names := strings.Join(Conditions(), ", ")
	if names != "backend, client, decision, flag, host, method, min_ms, name, path, rcode, rejection, request_id, service, status, type" {
		t.Errorf("conditions are %s", names)
	}
	for text, want := range map[string]string{
		"status=599": "", "status=0": "", "status=1xx": "", "status=5XX": "", "min_ms=0": "", "min_ms=1e12": "", "client=::1": "", "client=10.0.0.0/8": "",
		"status=600":     `filter status: "600" is neither a status, as 404, nor a class, as 5xx`,
		"status=0xx":     `filter status: "0xx" is neither a status, as 404, nor a class, as 5xx`,
		"status=6xx":     `filter status: "6xx" is neither a status, as 404, nor a class, as 5xx`,
		"status=55xx":    `filter status: "55xx" is neither a status, as 404, nor a class, as 5xx`,
		"status=-1":      `filter status: "-1" is neither a status, as 404, nor a class, as 5xx`,
		"min_ms=1.1e12":  `filter min_ms: "1.1e12" is no number of milliseconds`,
		"min_ms=-0.1":    `filter min_ms: "-0.1" is no number of milliseconds`,
		"client=a":       `filter client: "a" is neither an address nor a network`,
		"client=::1/129": `filter client: "::1/129" is neither an address nor a network`,
		"color=red":      `filter "color=red": allowed is NAME=VALUE with the names ` + names,
		"status":         `filter "status": allowed is NAME=VALUE with the names ` + names,
		"status=":        `filter "status=": allowed is NAME=VALUE with the names ` + names,
	} {
		got := ""
		if _, err := ParseFilter([]string{text}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got  %s\nwant %s", text, got, want)
		}
	}
	r := &line{Record: &accesslog.Record{}}
	r.Total = 2_500_000
	for text, want := range map[string]bool{"min_ms=2.5": true, "min_ms=2.500001": false, "status=0": true, "status=1xx": false} {
		if f := filter(t, text); f.passes(r) != want {
			t.Errorf("%s passes: got %t, want %t", text, !want, want)
		}
	}
}

// A watcher gets its lines of each second, even if it did not take earlier ones.
func TestAWatcherHasItsLinesEachSecond(t *testing.T) {
	for _, c := range []struct {
		tokens float64
		last   time.Duration // ago
		want   bool
		left   float64
	}{
		{5, time.Hour, true, 4}, {1, time.Hour, true, 0}, {0.5, time.Hour, true, watchRate - 1}, {0, time.Hour, true, watchRate - 1}, {0, -time.Hour, false, 0}, {0.9, -time.Hour, false, 0},
	} {
		w := &Watcher{tokens: c.tokens, last: time.Now().Add(-c.last)}
		if got := w.allowed(); got != c.want || got && w.tokens != c.left {
			t.Errorf("%v, %v ago: %t, %v are left", c.tokens, c.last, got, w.tokens)
		}
	}
}

// A watcher that leaves does not remove another.
func TestWatchersLeaveInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}} {
		h := &hub{segment: onceSegment()}
		var all []*Watcher
		for range 3 {
			w, err := h.join(7, Filter{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
		for n, i := range order {
			if !h.busy() || !h.wants(&accesslog.Record{Exchange: accesslog.Exchange{Farm: 7}}) || h.wants(&accesslog.Record{Exchange: accesslog.Exchange{Farm: 8}}) || !h.segment.Watched(7) {
				t.Errorf("%v: the farm is not watched before step %d", order, n)
			}
			all[i].Close()
			all[i].Close()
			if got := h.now.Load(); got != int64(2-n) || len(h.watchers[7]) != 2-n {
				t.Errorf("%v: %d watch after place %d", order, got, n)
			}
		}
		if h.busy() || h.segment.Watched(7) || len(h.watchers) != 0 {
			t.Errorf("%v: watchers are left", order)
		}
	}
}
