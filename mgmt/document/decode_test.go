package document_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

const small = `# The shop.
farms:
  - name: shop
    profile: http
    vip: 127.0.0.1
    vport: 8080   # any
    contimeout: 5
    error503: |
      <html>
      sorry
    services:
      - name: web
        vhost: shop\.example
        backends:
          - ip: 127.0.0.1
            port: "8081"
            weight: 2
          - {ip: db.example, port: 8082, maintenance: drain}
`

func TestASmallDocumentIsRead(t *testing.T) {
	cfg, err := document.Load([]byte(small), validate.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	f := cfg.Farms[0]
	b := f.HTTP.Services[0].Backends
	if f.Name != "shop" || f.VPort != 8080 || f.HTTP.ConnectTimeout != 5 || f.HTTP.ResponseTimeout != 45 || f.HTTP.Error503 != "<html>\nsorry\n" ||
		len(b) != 2 || b[0].Weight != 2 || b[0].Addr != netip.MustParseAddr("127.0.0.1") || b[1].Host != "db.example" || b[1].Addr.IsValid() || b[1].Maintenance != "drain" {
		t.Errorf("%+v %+v", f, f.HTTP)
	}
	out, err := document.Encode(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("# The shop.\n", "", "   # any", "", `"8081"`, "8081",
		"          - {ip: db.example, port: 8082, maintenance: drain}\n", "          - ip: db.example\n            port: 8082\n            maintenance: drain\n",
		`shop\.example`, `"shop\\.example"`).Replace(small)
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func TestJSONIsReadToo(t *testing.T) {
	text := "{\n\t\"farms\": [\n\t\t{\"name\": \"a\", \"profile\": \"http\", \"vip\": \"::1\", \"vport\": 80, \"stopped\": true,\n\t\t \"services\": [{\"name\": \"s\", \"redirect\": \"https://x.example\"}]}]}"
	cfg, err := document.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if f := cfg.Farms[0]; !f.Stopped || f.VPort != 80 || f.HTTP.Services[0].Redirect != "https://x.example" {
		t.Errorf("%+v", f)
	}
	_, err = document.Decode([]byte(strings.Replace(text, "80", "0", 1)))
	if err == nil || err.Error() != `line 3, column 56: farm "a": vport must be a number from 1 to 65535, got 0` {
		t.Errorf("got %v", err)
	}
}

// 5 and 5.0 are the same number.
func TestNumbersMayBeWrittenWithAPoint(t *testing.T) {
	for _, text := range []string{
		"farms:\n- {name: a, profile: http, vip: \"::1\", vport: 80.0, contimeout: 5.0, error503: 1.0}\n",
		`{"farms":[{"name":"a","profile":"http","vip":"::1","vport":80.00,"contimeout":5e0,"error503":"1.0"}]}`,
	} {
		cfg, err := document.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if f := cfg.Farms[0]; f.VPort != 80 || f.HTTP.ConnectTimeout != 5 || f.HTTP.Error503 != "1.0" { // text is unchanged
			t.Errorf("%s: %+v %+v", text, f, f.HTTP)
		}
	}
}

// Windows editors write a byte order mark before a text; it does not count as a column.
func TestByteOrderMarkIsIgnored(t *testing.T) {
	const mark = "\ufeff"
	for _, text := range []string{small, `{"farms": []}`, ""} {
		want, err := document.Decode([]byte(text))
		got, same := document.Decode([]byte(mark + text))
		if fmt.Sprint(err) != fmt.Sprint(same) || (err == nil && !document.Equal(got, want)) {
			t.Errorf("%.20q: %v, without the mark %v", text, same, err)
		}
	}
	for text, want := range map[string]string{mark + "fly: 1": "line 1, column 1", mark + mark + "farms: []": "line 1, column 1", mark + "a\xff": "line 1, column 2"} {
		if _, err := document.Decode([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// farmOf returns a document with one farm and additional lines.
func farmOf(lines ...string) string {
	return "farms:\n- name: a\n  profile: http\n  vip: 127.0.0.1\n  vport: 80\n" + strings.Join(lines, "\n") + "\n"
}

func TestProblemsHaveAPosition(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", `the document is empty; write "farms: []" for no farm at all`},
		{"a comment only", "# hello\n", "the document is empty"},
		{"null", "~\n", "the document is empty"},
		{"a list at the top", "- a\n", "must be an object with fields, got a list"},
		{"text", "hello\n", "must be an object with fields, got a single value"},
		{"no farms", "{}", "farms is required"},
		{"farms without anything", "farms:\n", "farms is required"},
		{"farms as text", "farms: x\n", `line 1, column 8: farms must be a list, got a single value`},
		{"farms as a mapping", "farms:\n  a: 1\n", `farms must be a list, got an object`},
		{"another key", "farm:\n- name: a\n", `line 1, column 1: unknown field "farm" (did you mean "farms"?); allowed are system, checks, farms`},
		{"a farm without a name", "farms:\n- profile: http\n", `line 2, column 3: farm "number 1": name is required`},
		{"a misspelt key", farmOf("  contimout: 5"), `line 6, column 3: farm "a": unknown field "contimout" (did you mean "contimeout"?)`},
		{"a key of the API", farmOf("  farmname: b"), `farm "a": unknown field "farmname"`},
		{"a wrong value", farmOf("  contimeout: soon"), `line 6, column 3: farm "a": contimeout must be a number from 1 to 86400 (seconds), got "soon"`},
		{"a fraction", farmOf("  contimeout: 5.5"), `line 6, column 3: farm "a": contimeout must be a whole number, got "5.5": a number from 1 to 86400`},
		{"a fraction in JSON", `{"farms":[{"name":"a","profile":"http","vip":"::1","vport":80,"contimeout":55e-1}]}`, `contimeout must be a number from 1 to 86400 (seconds), got "55e-1"`},
		{"a truth that is none", farmOf("  stopped: yes"), `farm "a": stopped must be true or false, got "yes"`},
		{"null for a number", "farms:\n- {name: a, profile: http, vip: 127.0.0.1, vport: ~}\n", `vport must be a number from 1 to 65535, got null`},
		{"a list for a number", farmOf("  contimeout: [1]"), `contimeout must be a number from 1 to 86400 (seconds), got a list`},
		{"a key twice", farmOf("  contimeout: 5", "  contimeout: 6"), `line 7, column 3`},
		{"services twice", farmOf("  services: []", "  services: []"), `line 7, column 3`},
		{"a key twice in JSON", `{"farms":[],"farms":[]}`, `farms is given twice; keep one of them`},
		{"a backend problem", farmOf("  services:", "  - name: s", "    backends:", "    - ip: 10.0.0.1", "      port: 80", "      weight: 10"),
			`line 11, column 7: farm "a" service "s" backend 0: weight must be a number from 1 to 9, got 10`},
		{"a service that is text", farmOf("  services: [x]"), `farm "a" service "number 1": must be an object with fields, got a single value`},
		{"a rule over two values", farmOf("  contimeout: 30"), `farm "a": resurrectime must be at least contimeout (30), got 21`},
		{"a rule over two farms", farmOf() + "- name: b\n  profile: http\n  vip: 0.0.0.0\n  vport: 80\n", `line 10, column 3: farm "b": vip and vport must not be used by another running farm`},
		{"broken indentation", "farms:\n- name: a\n   profile: http\n", "the YAML cannot be read"},
		{"an open quote", "farms: \"a\n", "the YAML cannot be read"},
		{"a tab", "farms:\n\t- name: a\n", "line 2"},
		{"an anchor", farmOf("  error503: &x sorry"), `line 6, column 13: anchors, aliases and merge keys (& * <<) are not supported`},
		{"an alias", farmOf("  error503: *x"), "aliases"},
		{"a merge key", farmOf("  <<: {}"), "merge keys"},
		{"a tag", farmOf("  error503: !!binary eA=="), "tags (!) are not supported"},
		{"text behind dashes", "farms: []\n--- {farms: []}\n", "only one document in a file is possible"},
		{"a directive", "%YAML 1.2\n---\nfarms: []\n", "directives (%) are not supported"},
		{"not UTF-8", "farms: []\n# \xff\n", "line 2, column 3: the document is not valid UTF-8 text"},
		{"broken JSON", "{\"farms\": [}", "the JSON cannot be read"},
		{"two JSON documents", "{\"farms\":[]} {}", "something follows the document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := document.Load([]byte(c.text), validate.Rules{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllProblemsAreReportedInDocumentOrder(t *testing.T) {
	_, err := document.Load([]byte(`farms:
- name: a
  profile: http
  vip: 127.0.0.1
  vport: 80000
  contimout: 1
  maxbody: none
  services:
  - name: web
    persistence: SOMETIMES
    ttl: soon
    backends:
    - ip: 10.0.0.1
      port: 80
      weight: 10
      wight: 1
    - {ip: 10.0.0.2}
  - name: other
    backends:
    - {ip: 10.0.0.3, port: 80}
- name: b
  profile: http
  vip: 127.0.0.1
  vport: 80
  contimeout: 30
- name: c
  profile: l4xnat
  vip: 127.0.0.1
  vport: 80
  nattype: some
`), validate.Rules{})
	if err == nil {
		t.Fatal("it was accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{
		`line 5, column 3: farm "a": vport must be`, `line 6, column 3: farm "a": unknown field "contimout"`, `line 7, column 3: farm "a": maxbody must be`,
		`line 10, column 5: farm "a" service "web": persistence must be`, `line 11, column 5: farm "a" service "web": ttl must be`,
		`line 15, column 7: farm "a" service "web" backend 0: weight must be`, `line 16, column 7: farm "a" service "web" backend 0: unknown field "wight"`,
		`line 17, column 8: farm "a" service "web" backend 1: port is required`,
		`farm "b": resurrectime must be at least contimeout`,
		`line 30, column 3: farm "c": nattype must be`,
	}
	if len(lines) != len(want) {
		t.Errorf("%d problems, want %d:\n%v", len(lines), len(want), err)
	}
	for i := range min(len(lines), len(want)) {
		if !strings.Contains(lines[i], want[i]) {
			t.Errorf("problem %d is\n%s\nwant %s", i, lines[i], want[i])
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, err := document.Decode([]byte("farms:\n" + strings.Repeat("- x\n", 1000)))
	if err == nil || strings.Count(err.Error(), "\n") != 100 || !strings.HasSuffix(err.Error(), "and 900 more problems") {
		t.Errorf("got %v", err)
	}
	if list := document.Problems(err); len(list) != 101 || list[99].Error() != `line 101, column 3: farm "number 100": must be an object with fields, got a single value` {
		t.Errorf("%d problems, of which the hundredth is %v", len(list), list[min(99, len(list)-1)])
	}
	if other := errors.New("no such file"); !slices.Equal(document.Problems(other), []error{other}) {
		t.Errorf("another error has the problems %v", document.Problems(other))
	}
	_, err = document.Decode([]byte("farms:\n" + strings.Repeat("- x\n", 100)))
	if list := document.Problems(err); len(list) != 100 {
		t.Errorf("%d of a hundred problems are reported", len(list))
	}
	var broken *field.Error
	if !errors.As(err, &broken) || !strings.Contains(broken.Message, "must be an object") {
		t.Errorf("the first problem is %v", broken)
	}
}

func TestHostileDocumentsAreRefusedSoon(t *testing.T) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"too large":         strings.Repeat(" ", document.MaxSize+1),
		"open brackets":     strings.Repeat("[", size),
		"open braces":       "farms: " + strings.Repeat("{a: ", size/4),
		"entries in a line": strings.Repeat("- ", size/2),
		"keys in a line":    strings.Repeat("a: ", size/3),
		"explicit keys":     strings.Repeat("? ", size/2),
		"JSON arrays":       `{"a":` + strings.Repeat("[", size),
		"JSON objects":      strings.Repeat(`{"a":`, size/5),
		"quotes":            strings.Repeat(`"`, size),
		"deep blocks":       deepBlocks(1000),
		"anchors":           "a: &a [x]\n" + strings.Repeat("b: [*a,*a,*a]\n", 1000),
		"many keys":         "farms: []\n" + manyKeys(20000),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := document.Decode([]byte(text)); err == nil {
				t.Error("it was accepted")
			} else if len(err.Error()) > 64<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// Documents at the limits are read.
func TestDocumentsAtTheLimitsAreRead(t *testing.T) {
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	fields := func(count int) string {
		var out strings.Builder
		for i := range count {
			fmt.Fprintf(&out, "k%d: 1\n", i)
		}
		return out.String()
	}
	flow := func(count int) string { return "{" + strings.ReplaceAll(fields(count), "\n", ", ") + "}" }
	entries := "farms:\n" + strings.Repeat("- name: a\n", 200) // each is a separate object
	for name, c := range map[string]struct{ text, want string }{
		"large":                      {`{"farms": []` + strings.Repeat(" ", document.MaxSize-13) + "}", ""},
		"too large":                  {`{"farms": []` + strings.Repeat(" ", document.MaxSize-12) + "}", "the document has 16777217 bytes, at most 16777216 are read"},
		"deep YAML":                  {"farms: " + nested(16), "must be an object with fields"},
		"too deep YAML":              {"farms: " + nested(17), "line 1, column 24: the document nests deeper than 16 levels"},
		"deep JSON":                  {`{"farms": ` + nested(16) + "}", "must be an object with fields"},
		"too deep JSON":              {`{"farms": ` + nested(17) + "}", "line 1, column 27: the document nests deeper than 16 levels"},
		"entries in a line":          {strings.Repeat("- ", 16) + "a", "must be an object with fields, got a list"},
		"too many entries in a line": {strings.Repeat("- ", 17) + "a", "the document nests deeper than 16 levels"},
		"many fields":                {fields(100), `unknown field "k99"`},
		"too many fields":            {fields(101), "line 101, column 5: an object has more than 100 fields"},
		"many fields in braces":      {"farms: [" + flow(100) + "]", `unknown field "k90"`},
		"too many in braces":         {"farms: [" + flow(101) + "]", "an object has more than 100 fields"},
		"fields of braces":           {"farms: [" + flow(60) + ", " + flow(60) + "]", `unknown field "k59"`},
		"fields of entries":          {entries, "profile is required"},
	} {
		_, err := document.Decode([]byte(c.text))
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %.200s, want %q", name, got, c.want)
		}
	}
}

func deepBlocks(levels int) string {
	var out strings.Builder
	for i := range levels {
		out.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return out.String()
}

func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String() + ": 1\n")
	}
	return out.String()
}
