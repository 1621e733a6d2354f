package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli"
)

const bad = `farms:
- name: a
  profile: http
  vip: 127.0.0.1
  vport: 80
  contimout: 5
  reqtimeout: soon
`

// checked runs check on a document with the data directory of a stopped appliance.
func checked(t *testing.T, text string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, wrong strings.Builder
	code = cli.Execute(append([]string{"--data", t.TempDir(), "check", "-f", file}, more...), strings.NewReader(""), &out, &wrong)
	return out.String(), wrong.String(), code
}

func TestADocumentIsCheckedWithoutAnAppliance(t *testing.T) {
	if out, wrong, code := checked(t, "farms: []\n"); code != 0 || !strings.Contains(out, "can be applied: 0 farms, 0 backends") || wrong != "" {
		t.Errorf("a right document: %d %q %q", code, out, wrong)
	}
	one := "farms:\n- {name: a, profile: http, vip: 127.0.0.1, vport: 80, services: [{name: s, backends: [{ip: 10.0.0.1, port: 80, priority: 9}]}]}\n"
	const warning = "sluice: warning: farm \"a\" service \"s\" backend 0: priority "
	if out, wrong, code := checked(t, one); code != 0 || !strings.HasSuffix(out, "shop.yaml can be applied: 1 farm, 1 backend.\n") || !strings.HasPrefix(wrong, warning) || strings.Count(wrong, "\n") != 1 {
		t.Errorf("a document with a warning: %d %q %q", code, out, wrong)
	}
	two := "farms:\n- {name: a, profile: l4xnat, vip: 127.0.0.1, vport: 80, backends: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]}\n- {name: b, profile: http, vip: 127.0.0.1, vport: 81, services: [{name: s, backends: [{ip: 10.0.0.1, port: 80}]}]}\n"
	if out, wrong, code := checked(t, two); code != 0 || !strings.HasSuffix(out, ": 2 farms, 3 backends.\n") {
		t.Errorf("a document with two farms: %d %q %q", code, out, wrong)
	}
	out, wrong, code := checked(t, bad)
	if code != 1 || out != "" || !strings.Contains(wrong, `line 6, column 3: farm "a": unknown field "contimout" (did you mean "contimeout"?)`) ||
		!strings.Contains(wrong, "line 7, column 3: farm \"a\": reqtimeout must be") {
		t.Errorf("a wrong document: %d %q %q", code, out, wrong)
	}
	if _, wrong, code := checked(t, bad, "other"); code != 2 || !strings.Contains(wrong, `unknown command "other"`) {
		t.Errorf("wrong usage: %d %q", code, wrong)
	}
	var missing strings.Builder
	if code := cli.Execute([]string{"check", "-f", "/nowhere/a.yaml"}, nil, &missing, &missing); code != 1 {
		t.Errorf("no such file: %d %q", code, missing.String())
	}
}

func TestFindingsOfACheckArePrintedAsJSON(t *testing.T) {
	type verdict struct {
		Valid  bool
		Errors []struct {
			Line, Column         int
			Path, Field, Message string
		}
		Warnings []struct{ Path, Field, Message string }
	}
	out, wrong, code := checked(t, bad, "--json")
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 1 || wrong != "" {
		t.Fatalf("%d %q %q: %v", code, out, wrong, err)
	}
	if v.Valid || len(v.Errors) != 2 || v.Errors[1].Line != 7 || v.Errors[1].Column != 3 || v.Errors[1].Field != "reqtimeout" || v.Errors[1].Path != `farm "a"` ||
		strings.Contains(v.Errors[1].Message, "line") {
		t.Errorf("%s", out)
	}
	out, _, code = checked(t, "farms:\n- {name: a, profile: http, vip: 127.0.0.1, vport: 80, services: [{name: s, backends: [{ip: 10.0.0.1, port: 80, priority: 9}]}]}\n", "--json")
	v = verdict{}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 || !v.Valid || len(v.Errors) != 0 || len(v.Warnings) != 1 || v.Warnings[0].Field != "priority" {
		t.Errorf("%d %v %s", code, err, out)
	}
}
