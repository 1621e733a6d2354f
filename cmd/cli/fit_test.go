package cli_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
)

// A terminal of 80 columns shows every table completely.
func TestTablesFitTheTerminal(t *testing.T) {
	a := start(t)
	a.shop()
	a.must("farm", "create", "mail", "--profile", "l4xnat", "vip=192.0.2.10", "vport=25", "persistence=srcip")
	a.must("backend", "add", "mail", "10.0.0.1:25")
	a.health[1] = farm.StatusUp
	for _, command := range []string{"farm list", "farm show shop", "service list shop", "service show shop web", "backend list shop web", "status", "stats", "stats shop", "stats mail",
		"history", "key list", "conn list", "system kernel", "farm show mail"} {
		t.Setenv("SLUICE_COLUMNS", "")
		wide := a.must(strings.Fields(command)...)
		t.Setenv("SLUICE_COLUMNS", "80")
		out := a.must(strings.Fields(command)...)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", command, n, line)
			}
		}
		for word := range strings.FieldsSeq(wide) {
			if !strings.Contains(strings.Join(strings.Fields(out), ""), word) && len(word) < 20 {
				t.Errorf("%s on a narrow terminal lacks %q:\n%s", command, word, out)
			}
		}
	}
	t.Setenv("SLUICE_COLUMNS", "80")
	if out := a.must("stats"); strings.Count(out, "FARM") != 2 || strings.Count(out, "shop") != 2 {
		t.Errorf("the tables that share the columns do not all name the farm:\n%s", out)
	}
}

func TestTracesFitTheTerminal(t *testing.T) {
	t.Setenv("SLUICE_COLUMNS", "80")
	var asked string
	code, out, err := trace(streaming(t, "data: "+traced+"\n\n", &asked), "shop", "--count", "1")
	if code != 0 {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out, "a.test/x") || !strings.Contains(out, "web") || strings.Count(out, "\n") < 4 {
		t.Errorf("%s", out)
	}
}

// Each part of a split table identifies its rows, cells are wrapped before columns are
// split, and the width is used up.
func TestNarrowTablesAreSharedOut(t *testing.T) {
	reason := "the last start was refused: cannot listen on 192.0.2.10:80"
	data := canned(t, map[string]string{
		"/farms":                            `{"params":[{"farmname":"shop","status":"problem","profile":"http","vip":"192.0.2.10","vport":"80","problem":"` + reason + `"}]}`,
		"/farms/shop/services/web/backends": `{"params":[{"id":0,"ip":"10.0.0.1","port":80,"alias":"first"},{"id":1,"ip":"2001:db8::1234:5678:9abc","port":8080,"weight":3}]}`,
		"/stats/farms/shop/backends":        `{"farm":{"profile":"l4xnat"},"backends":[{"id":0,"status":"up","ip":"10.0.0.1","counters":{"connects":7,"bytes_in":1}}]}`,
		"/certificates":                     `{"params":[{"file":"a.pem","cn":"ä.test","issuer":"An authority of which the name is long, and then some","status":"valid","days_left":7}]}`,
		"/history":                          `{"params":[{"number":7,"author":"root","comment":"eins\nzwei drei"}]}`,
		"/farms/shop/services/web/sessions": `{"params":[{"session":"0123456789012345678901234567890123456789","type":"static"}],"total_sessions":1}`,
	})
	for name, command := range map[string]string{"farms": "farm list", "backends": "backend list shop web", "stats": "stats shop", "certificates": "certificate list", "history": "history", "sessions": "session list shop web"} {
		var all strings.Builder
		for _, columns := range []string{"0", "30", "44", "61", "62", "63", "70", "100", "101"} {
			t.Setenv("SLUICE_COLUMNS", columns)
			all.WriteString("COLUMNS=" + columns + "\n" + execute("", append([]string{"--data", data}, strings.Fields(command)...)...).stdout)
		}
		golden(t, "narrow_"+name, all.String())
	}
}

// question has the longest code.
const question = `{"protocol":"DNS/UDP","client":"192.0.2.7","type":"AAAA","rcode":"NXDOMAIN","name":"nobody.example.com."}`

func TestNarrowTracesAreFolded(t *testing.T) {
	var all strings.Builder
	for _, columns := range []string{"", "30", "80", "81", "82", "130"} {
		t.Setenv("SLUICE_COLUMNS", columns)
		var asked string
		_, out, err := trace(streaming(t, "data: "+traced+"\n\ndata: {}\n\ndata: "+question+"\n\n", &asked), "shop", "--count", "3")
		all.WriteString("COLUMNS=" + columns + "\n" + out + err)
	}
	golden(t, "narrow_trace", stampOfDay.ReplaceAllString(all.String(), "03:04:05.678"))
}

var stampOfDay = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d\d\d`)
