package nft

import (
	"strings"
	"testing"
)

func TestComplaintsNameTheirLine(t *testing.T) {
	b := &Batch{}
	b.add(0, "add table inet sluice")
	b.add(7, "add rule inet sluice farm7 jump nowhere")
	e := failure("/dev/stdin:2:33-39: Error: Could not process rule: No such file or directory\nadd rule …\n    ^^^^\n", b)
	if e.Owner != 7 || e.Line != "add rule inet sluice farm7 jump nowhere" || !IsMissing(e) {
		t.Errorf("%+v", e)
	}
	e = failure("Operation not permitted (you must be root)\n", b)
	if e.Unwrap() != ErrNotPermitted || e.Owner != 0 {
		t.Errorf("%+v", e)
	}
	e = failure("", b)
	if e.Reason == "" {
		t.Error("a failure without a word says nothing")
	}
}

func TestElementsAreReadAsTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		listing string
		set     Set
		want    Entry
	}{
		{`{"nftables":[{"metainfo":{}},{"set":{"family":"inet","name":"forth","table":"sluice","type":"mark","elem":[{"elem":{"val":1543503873,"counter":{"packets":5,"bytes":7}}}]}}]}`,
			Set{Type: "mark"}, Entry{Key: "0x5c000001", Packets: 5, Bytes: 7}},
		{`{"nftables":[{"map":{"elem":[[{"elem":{"val":"10.0.0.1","timeout":60,"expires":29}},1543503873]]}}]}`,
			Set{Type: "ipv4_addr", Data: "mark"}, Entry{Key: "10.0.0.1", Value: "0x5c000001", Timeout: 60, Expires: 29}},
		{`{"nftables":[{"map":{"elem":[[1543503873,{"concat":["10.2.0.1",80]}]]}}]}`,
			Set{Type: "mark", Data: "ipv4_addr . inet_service"}, Entry{Key: "0x5c000001", Value: "10.2.0.1 . 80"}},
		{`{"nftables":[{"map":{"elem":[[{"concat":["10.1.0.1","tcp",{"range":[1000,2000]}]},{"goto":{"target":"farm12"}}]]}}]}`,
			Set{Type: "ipv4_addr . inet_proto . inet_service", Data: "verdict"}, Entry{Key: "10.1.0.1 . tcp . 1000-2000", Value: "goto farm12"}},
	} {
		got, err := ParseElements([]byte(c.listing), &c.set)
		if err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", c.listing, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "[]", `{"nftables":[{"set":{"elem":[{"elem":{"val":-1}}]}}]}`, `{"nftables":[{"set":{"elem":[99999999999]}}]}`} {
		if got, err := ParseElements([]byte(bad), &Set{Type: "mark"}); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestOneElementIsReadFromText(t *testing.T) {
	text := "table inet sluice {\n\tmap session12 {\n\t\ttype ipv4_addr . inet_service : mark\n\t\tsize 262144\n\t\tflags dynamic,timeout\n\t\telements = { 10.0.0.1 . 80 timeout 1d1m expires 1h59s712ms : 0x5c000001 }\n\t}\n}\n"
	want := Entry{Key: "10.0.0.1 . 80", Value: "0x5c000001", Timeout: 86460, Expires: 3659}
	if got, err := parseFound(text); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "elements = {  }", "elements = { 10.0.0.1"} {
		if got, err := parseFound(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add(`{"nftables":[{"map":{"elem":[[{"elem":{"val":"10.0.0.1","timeout":60,"expires":29}},1543503873]]}}]}`, "ipv4_addr", "mark")
	f.Add(`{"nftables":[{"set":{"elem":[{"elem":{"val":1,"counter":{"packets":5,"bytes":7}}}]}}]}`, "mark", "")
	f.Add(`{"nftables":[{"map":{"elem":[[{"concat":["10.1.0.1","tcp",{"range":[1,2]}]},{"goto":{"target":"f"}}]]}}]}`, "ipv4_addr . inet_proto . inet_service", "verdict")
	f.Add("elements = { 10.0.0.1 timeout 1m expires 59s712ms : 0x5c000001 }", "ipv4_addr", "mark")
	f.Add("/dev/stdin:2:33-39: Error: Could not process rule\n", "mark", "")
	f.Fuzz(func(t *testing.T, text, kind, data string) {
		list, err := ParseElements([]byte(text), &Set{Type: kind, Data: data})
		if err == nil {
			for _, e := range list {
				if strings.Count(e.Key, " . ") < strings.Count(kind, " . ") {
					t.Errorf("key %q of type %q", e.Key, kind)
				}
			}
		}
		if e, err := parseFound(text); err == nil && e.Key == "" {
			t.Errorf("%q gives an element without a key", text)
		}
		if c := complaints(text)[0]; c.line < 0 || strings.Contains(c.reason, "\n") || len(c.reason) > maxShown+len("…") {
			t.Errorf("line %d, reason %q", c.line, c.reason)
		}
		_, _ = parseNames([]byte(text))
	})
}
