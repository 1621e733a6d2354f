package api_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// digestOfTag matches the digest in a tag, which varies.
var digestOfTag = regexp.MustCompile(`"([0-9a-z-]+)\.[0-9a-f]{16}"`)

// golden compares a text with a golden file and shows the first difference.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			from := max(0, i-3)
			t.Fatalf("%s, line %d:\n%s\nwant:\n%s", name, i+1, strings.Join(lines[from:min(len(lines), i+3)], "\n"), strings.Join(wanted[from:min(len(wanted), i+3)], "\n"))
		}
	}
}

// keptFields represent all configurable fields of farms, services and backends in golden
// files, so that a new field does not change them.
var keptFields = []string{"contimeout", "farmguardian", "trusted", "error503", "listener", "mark", "carrier", "vport", "protocol", "vhost", "urlp", "sessionid", "weight", "alias", "max_conns", "port", "ip"}

var otherFields = func() (names []string) {
	for _, list := range [][]field.Answered{httpfarm.Answer.Answers(), l4farm.Answer.Answers(), httpfarm.ServiceAnswer.Answers(), httpfarm.BackendAnswer.Answers(), l4farm.BackendAnswer.Answers()} {
		for _, f := range list {
			if !slices.Contains(keptFields, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}()

// bare removes the fields missing from golden files from a response, in objects that have
// many of them.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		has := 0
		for name := range v {
			if slices.Contains(otherFields, name) {
				has++
			}
		}
		for name, value := range v {
			if has > 2 && slices.Contains(otherFields, name) {
				delete(v, name)
				continue
			}
			v[name] = bare(value)
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
	}
	return v
}

var (
	pemText   = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----.*?-----END [A-Z0-9 ]+-----`)
	randomHex = regexp.MustCompile(`([0-9A-F]{2}:){15,}[0-9A-F]{2}|[0-9a-f]{40,}|[0-9A-Za-z_-]{40,}`)
	otherTime = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)`)
	ofMachine = regexp.MustCompile(`"(created|hostname|kernel_version)":"[^"]*"`)
	serial    = regexp.MustCompile(`Serial Number: [0-9A-F]+`) // counts across all tests
	allowed   = regexp.MustCompile(`(unknown field [^;(]*)(; allowed are|; sluice\.yaml| \(did you mean).*`)
)

// line formats a response on one line, or on several if it is text.
func (r reply) line(t *testing.T) string {
	t.Helper()
	out := []string{strconv.Itoa(r.status)}
	for _, name := range []string{"Etag", "Location", "Retry-After", "Allow", "Content-Disposition", "Content-Type"} {
		if v := r.header.Get(name); v != "" && v != "application/json" {
			out = append(out, name+": "+digestOfTag.ReplaceAllString(v, `"$1.…"`))
		}
	}
	text := r.raw
	if strings.Contains(r.header.Get("Content-Type"), "application/json") && r.raw != "" {
		if help, _ := r.body["message"].(string); strings.HasPrefix(help, "No parameter") {
			delete(r.body, "params") // the fields
		}
		if message, ok := r.body["message"].(string); ok {
			r.body["message"] = allowed.ReplaceAllString(message, "$1…")
		}
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(bare(r.body)); err != nil {
			t.Fatal(err)
		}
		text = b.String()
	}
	text = serial.ReplaceAllString(text, "Serial Number: …")
	text = ofMachine.ReplaceAllString(text, `"$1":"…"`)
	text = otherTime.ReplaceAllString(randomHex.ReplaceAllString(pemText.ReplaceAllString(text, "($1)"), "(random)"), "(time)")
	return strings.Join(append(out, strings.TrimSpace(text)), " ")
}
