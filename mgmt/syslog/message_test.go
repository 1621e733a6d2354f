package syslog_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/leodido/go-syslog/v4/rfc5424"

	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

var at = time.Date(2026, 11, 24, 8, 30, 0, 123456000, time.FixedZone("", 3600))

// parsed parses a message with a strict parser of RFC 5424.
func parsed(t *testing.T, raw []byte) *rfc5424.SyslogMessage {
	t.Helper()
	m, err := rfc5424.NewParser().Parse(raw)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return m.(*rfc5424.SyslogMessage)
}

func TestMessagesMatchRFC5424(t *testing.T) {
	o := syslog.NewOrigin("lb1.example.com", "sluice", "42")
	m := syslog.Message{Facility: syslog.Daemon, Severity: syslog.Warning, Time: at, ID: "event",
		Data: []syslog.Element{{Name: "sluice", Params: []syslog.Param{{Name: "farm", Value: `a"b\c]d`}, {Name: "n", Value: "1"}}}}, Text: "backend is down"}
	want := `<28>1 2026-11-24T07:30:00.123456Z lb1.example.com sluice 42 event [sluice@32473 farm="a\"b\\c\]d" n="1"] backend is down`
	got := o.Append(nil, &m, syslog.MaxStream)
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	p := parsed(t, got)
	if *p.Facility != 3 || *p.Severity != 4 || *p.Hostname != "lb1.example.com" || *p.Appname != "sluice" || *p.ProcID != "42" || *p.MsgID != "event" ||
		!p.Timestamp.Equal(at) || (*p.StructuredData)["sluice@32473"]["n"] != "1" || *p.Message != "backend is down" {
		t.Errorf("understood as %+v", p)
	}
	bare := syslog.NewOrigin("", "", "").Append(nil, &syslog.Message{Facility: syslog.Local0, Severity: syslog.Info, Time: at}, 100)
	if want := "<134>1 2026-11-24T07:30:00.123456Z - - - - -"; string(bare) != want {
		t.Errorf("%s, want %s", bare, want)
	}
}

func TestFieldsOfTheHeaderFitTheirPlaces(t *testing.T) {
	long := strings.Repeat("x", 300)
	p := parsed(t, syslog.NewOrigin(" ä\x7flb 1\n", long, long).Append(nil, &syslog.Message{Time: at, ID: long}, syslog.MaxStream))
	if *p.Hostname != "lb1" || len(*p.Appname) != 48 || len(*p.ProcID) != 128 || len(*p.MsgID) != 32 {
		t.Errorf("%+v", p)
	}
}

func TestControlCharactersAreEscaped(t *testing.T) {
	evil := "a\nb\r\x00\x1b[2Jc\x7f\u0085\u2028\xff\xfe" + "ü€"
	raw := syslog.NewOrigin("h", "a", "1").Append(nil, &syslog.Message{Time: at, Text: evil,
		Data: []syslog.Element{{Name: `x="]@` + "\n", Params: []syslog.Param{{Name: `n "]=` + "\n", Value: evil}}}}}, syslog.MaxStream)
	if !utf8.Valid(raw) {
		t.Errorf("no UTF-8: %q", raw)
	}
	for _, r := range string(raw) {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 {
			t.Errorf("%q is in %q", r, raw)
		}
	}
	want := `a\x0ab\x0d\x00\x1b[2Jc\x7f` + "\uFFFD\uFFFD" + `\xff\xfe` + "ü€"
	p := parsed(t, raw)
	if *p.Message != want || (*p.StructuredData)["x@32473"]["n"] != strings.ReplaceAll(want, `\`, `\\`) && (*p.StructuredData)["x@32473"]["n"] != want {
		t.Errorf("understood as %q and %q", *p.Message, *p.StructuredData)
	}
}

// Any content at any size limit yields a valid message.
func TestNoMessageIsLongerThanAllowed(t *testing.T) {
	texts := map[string]string{"plain": strings.Repeat("x", 3000), "wide": strings.Repeat("€", 3000), "control": strings.Repeat("\n", 3000), "quotes": strings.Repeat(`"]\`, 1000), "broken": strings.Repeat("\xff", 3000)}
	o := syslog.NewOrigin("host", "sluice", "42")
	least := len(o.Append(nil, &syslog.Message{Time: at, ID: "audit"}, 1000))
	for name, text := range texts {
		m := syslog.Message{Time: at, ID: "audit", Text: text, Data: []syslog.Element{
			{Name: "audit", Params: []syslog.Param{{Name: "user", Value: "root"}, {Name: "path", Value: text[:len(text)/3]}, {Name: "message", Value: text}}}, {Name: "more"}}}
		for most := least; most < 6000; most += 1 + most/50 {
			raw := o.Append([]byte("before"), &m, most)[len("before"):]
			if len(raw) > most || !utf8.Valid(raw) {
				t.Fatalf("%s: %d bytes of %d, %q", name, len(raw), most, raw)
			}
			parsed(t, raw)
			if m := parsed(t, raw).Message; most > 5900 && name == "plain" && (m == nil || !strings.HasSuffix(*m, "x…")) {
				t.Errorf("the cut text has no mark: %q", raw[len(raw)-20:])
			}
		}
	}
	exact := syslog.Message{Time: at, ID: "audit", Text: "12345"}
	if raw := o.Append(nil, &exact, least+6); !strings.HasSuffix(string(raw), " - 12345") {
		t.Errorf("cut though it fits: %q", raw)
	}
	if raw := o.Append(nil, &exact, least+5); !strings.HasSuffix(string(raw), " - 1…") {
		t.Errorf("cut as %q", raw)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("text", "value", "name", 200)
	f.Add("\n\xff\u2028", `"]\`, "=] \"", 120)
	f.Fuzz(func(t *testing.T, text, value, name string, most int) {
		o := syslog.NewOrigin(name, name, name)
		head := len(o.Append(nil, &syslog.Message{Time: at, ID: name}, 1000))
		most = head + (most&0xfff)%4000
		raw := o.Append(nil, &syslog.Message{Time: at, ID: name, Text: text, Data: []syslog.Element{{Name: name, Params: []syslog.Param{{Name: name, Value: value}, {Name: "b", Value: text}}}}}, most)
		if len(raw) > most || !utf8.Valid(raw) {
			t.Errorf("%d bytes of %d: %q", len(raw), most, raw)
		}
		if _, err := rfc5424.NewParser().Parse(raw); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	})
}

func TestAuditEntriesHaveTheirFields(t *testing.T) {
	o := syslog.NewOrigin("h", "sluice", "1")
	m := syslog.Audited(audit.Entry{Number: 7, Time: at, User: "ann", Source: "192.0.2.1", Method: "PUT", Path: "/farms/shop", Status: 200, Message: "Modify a farm", Revision: 12})
	want := `<85>1 2026-11-24T07:30:00.123456Z h sluice 1 audit [audit@32473 number="7" user="ann" source="192.0.2.1" method="PUT" path="/farms/shop" status="200" revision="12"] ann from 192.0.2.1: PUT /farms/shop: 200 Modify a farm`
	if got := string(o.Append(nil, &m, syslog.MaxStream)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	m = syslog.Audited(audit.Entry{Number: 8, Time: at, Source: "192.0.2.1", Method: "GET", Path: "/x", Status: 401, Missing: 3})
	want = `<84>1 2026-11-24T07:30:00.123456Z h sluice 1 audit [audit@32473 number="8" source="192.0.2.1" method="GET" path="/x" status="401" missing="3"] somebody unknown from 192.0.2.1: GET /x: 401`
	if got := string(o.Append(nil, &m, syslog.MaxStream)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
