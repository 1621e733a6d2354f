package nft

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestErrorsNameTheirLine(t *testing.T) {
	b := &Batch{}
	b.add(0, "add table inet sluice")
	b.add(7, "  add rule inet sluice farm7 jump nowhere")
	b.add(8, "add ct helper "+strings.Repeat("x", 200))
	const missing = "Could not process rule: No such file or directory"
	long := "add ct helper " + strings.Repeat("x", 146) + "…"
	none := map[uint32]string{}
	for output, want := range map[string]struct {
		line, reason, text string
		owner              uint32
		refused            map[uint32]string
		cause              error
	}{
		"/dev/stdin:2:33-39: Error: " + missing + "\nadd rule …\n    ^^^^\n": {"add rule inet sluice farm7 jump nowhere", missing,
			"packet filter: " + missing + ": add rule inet sluice farm7 jump nowhere", 7, map[uint32]string{7: "packet filter: " + missing + ": add rule inet sluice farm7 jump nowhere"}, nil},
		"x:1:1-9: Error: no\nx:3:1-2: Error: this\nx:2:3-4: Error: nor that\nx:2:3-4: Error: nor more": {"add table inet sluice", "no", "packet filter: no: add table inet sluice", 0,
			map[uint32]string{8: "packet filter: this: " + long, 7: "packet filter: nor that: add rule inet sluice farm7 jump nowhere"}, nil},
		"x:4:1-9: Error: no such line":                     {"", "no such line", "packet filter: no such line", 0, none, nil},
		"x:0:1-9: Error: nor this":                         {"", "nor this", "packet filter: nor this", 0, none, nil},
		"\n Error: " + strings.Repeat("y", 170) + "\nmore": {"", strings.Repeat("y", 160) + "…", "packet filter: " + strings.Repeat("y", 160) + "…", 0, none, nil},
		strings.Repeat("y", 160):                           {"", strings.Repeat("y", 160), "packet filter: " + strings.Repeat("y", 160), 0, none, nil},
		"":                                                 {"", "nft failed without a word", "packet filter: nft failed without a word", 0, none, nil},
		"x:2:1-9: Error: Could not process rule: Operation not permitted (you must be root)": {"", ErrNotPermitted.Error(), "packet filter: " + ErrNotPermitted.Error(), 0, none, ErrNotPermitted},
		"x:2:1-9: Error: Protocol not supported":                                             {"", ErrUnsupported.Error(), "packet filter: " + ErrUnsupported.Error(), 0, none, ErrUnsupported},
		"netlink.c:60: Unable to initialize Netlink socket: Protocol not supported":          {"", ErrUnsupported.Error(), "packet filter: " + ErrUnsupported.Error(), 0, none, ErrUnsupported},
		"x:1:1-9: Error: Operation not supported":                                            {"", ErrUnsupported.Error(), "packet filter: " + ErrUnsupported.Error(), 0, none, ErrUnsupported},
		"x:2:1-9: Error: Operation not supported": {"add rule inet sluice farm7 jump nowhere", "Operation not supported", "packet filter: Operation not supported: add rule inet sluice farm7 jump nowhere", 7,
			map[uint32]string{7: "packet filter: Operation not supported: add rule inet sluice farm7 jump nowhere"}, nil},
	} {
		e := failure(output, b)
		if e.Line != want.line || e.Reason != want.reason || e.Error() != want.text || e.Owner != want.owner || !maps.Equal(e.Refused, want.refused) || e.Unwrap() != want.cause {
			t.Errorf("%q:\n%+v, caused by %v", output, e, e.cause)
		}
		if IsMissing(e) != strings.Contains(want.reason, missing) {
			t.Errorf("%q: something is missing: %v", output, IsMissing(e))
		}
	}
	if e := failure("x:1:1-9: Error: no", nil); e.Line != "" || e.Owner != 0 || e.Reason != "no" {
		t.Errorf("of no batch: %+v", e)
	}
	for reason, want := range map[string]bool{"Could not process rule: File exists": true, "Device or resource busy": true, "netlink: No buffer space available": true, missing: false} {
		if isThere(failure(reason, nil)) != want {
			t.Errorf("%s: isThere returns %v, want %v", reason, !want, want)
		}
	}
	if isThere(errors.New("File exists")) || IsMissing(errors.New(missing)) {
		t.Error("a foreign error is classified")
	}
}

func TestElementsAreParsed(t *testing.T) {
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
	marks, pairs := Set{Type: "mark"}, Set{Type: "mark . mark"}
	toMarks, toVerdicts := Set{Type: "mark", Data: "mark"}, Set{Type: "mark", Data: "verdict"}
	for _, bad := range []struct {
		elements string
		set      Set
	}{
		{`{"elem":{"val":-1}}`, marks}, {`{"elem":{"val":1,"timeout":"1"}}`, marks}, {`4294967296`, marks}, {`true`, marks}, {`{"range":[1]}`, marks},
		{`{"range":[-1,2]}`, marks}, {`{"range":[1,-2]}`, marks}, {`{"range":[1,2,3]}`, marks}, {`["a"`, marks},
		{`1`, pairs}, {`{"concat":1}`, pairs}, {`{"concat":[1]}`, pairs}, {`{"concat":[1,2,3]}`, pairs}, {`{"concat":[1,-2]}`, pairs},
		{`1`, toMarks}, {`[1]`, toMarks}, {`[1,2,3]`, toMarks}, {`[-1,2]`, toMarks}, {`[1,-2]`, toMarks}, {`[1,2]`, toVerdicts},
	} {
		if got, err := ParseElements([]byte(`{"nftables":[{"set":{"elem":[`+bad.elements+`]}}]}`), &bad.set); err == nil || got != nil {
			t.Errorf("%s was read as %v, %v", bad.elements, got, err)
		}
	}
	for elements, want := range map[string]string{`4294967295`: "0xffffffff", `{"range":[1,4294967295]}`: "0x00000001-0xffffffff", `{"elem":{"val":"any"}}`: "any"} {
		if got, err := ParseElements([]byte(`{"nftables":[{"set":{"elem":[`+elements+`]}}]}`), &marks); err != nil || len(got) != 1 || got[0].Key != want {
			t.Errorf("%s was read as %v, %v", elements, got, err)
		}
	}
	if got, err := ParseElements([]byte(`{"nftables":[{"map":{"elem":[[1,{"drop":null}]]}}]}`), &toVerdicts); err != nil || got[0].Value != "" {
		t.Errorf("a verdict without a target: %v, %v", got, err)
	}
	for _, bad := range []string{"", "[]"} {
		if got, err := ParseElements([]byte(bad), &marks); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestOneElementIsReadFromText(t *testing.T) {
	for text, want := range map[string]uint32{"1d2h3m4s5ms": 93784, "999ms": 0, "59s999ms": 59, "10m": 600, "": 0, "7": 0, "2h": 7200, "99999999d": 1 << 31} {
		if got := seconds(text); got != want {
			t.Errorf("%q is %d seconds, want %d", text, got, want)
		}
	}
	text := "table inet sluice {\n\tmap session12 {\n\t\ttype ipv4_addr . inet_service : mark\n\t\tsize 262144\n\t\tflags dynamic,timeout\n\t\telements = { 10.0.0.1 . 80 timeout 1d1m expires 1h59s712ms : 0x5c000001 }\n\t}\n}\n"
	want := Entry{Key: "10.0.0.1 . 80", Value: "0x5c000001", Timeout: 86460, Expires: 3659}
	if got, err := parseFound(text); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
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
		if c := problems(text)[0]; c.line < 0 || strings.Contains(c.reason, "\n") || len(c.reason) > maxShown+len("…") {
			t.Errorf("line %d, reason %q", c.line, c.reason)
		}
		_, _ = parseNames([]byte(text))
	})
}
