package cli_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Terms of HAProxy and nginx lead to the corresponding commands.
func TestWordsOfOthersLeadToOurs(t *testing.T) {
	a := ready(t)
	for _, c := range []struct{ command, want string }{
		{"backend create shop web 10.0.0.9:80 maxconn=5", `(did you mean "connection_limit" or "max_conns"?)`},
		{"service set shop web balance=leastconn", `(did you mean "routingpolicy" or "algorithm"?)`},
		{"farm create x bind=:80", `(did you mean "vip" or "vport"?)`},
		{"farm set shop mode=tcp", "a farm has a profile"},
		{"server add web1", "it is a backend: sluice backend create"},
		{"upstream web", "backends belong to a service"},
		{"service set shop web weight=2", "(weight is a setting of backends: sluice backend set)"},
		{"header create shop set-header X:1", "sluice header create FARM addrequestheader"},
		{"check set check_tcp inter=5", `(did you mean "interval"?)`},
	} {
		if r := a.run(strings.Fields(c.command)...); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want %q", c.command, r, c.want)
		}
	}
}

// Every command that an explanation names exists.
func TestExplanationsNameCommandsThatExist(t *testing.T) {
	a := ready(t)
	commands := regexp.MustCompile(`sluice ([a-z]+(?: [a-z]+)?)`)
	tried := map[string]bool{}
	for word, term := range suggest.Terms() {
		for _, m := range commands.FindAllStringSubmatch(term.Command, -1) {
			words := strings.Fields(m[1])
			if len(words) == 2 && slices.Contains([]string{"for", "too"}, words[1]) {
				words = words[:1]
			}
			if command := strings.Join(words, " "); !tried[command] {
				tried[command] = true
				if r := a.run(append(words, "-h")...); r.code != 0 || !strings.Contains(r.stdout, "Usage:\n  sluice "+command) {
					t.Errorf("%s: %s: %+v", word, command, r)
				}
			}
		}
	}
	if len(tried) < 20 {
		t.Errorf("only %d commands were tried", len(tried))
	}
}

func TestTimesTakeTheirUnit(t *testing.T) {
	a := ready(t)
	a.must("farm", "set", "shop", "contimeout=7s", "reqtimeout=1m")
	if got := a.must("export"); !strings.Contains(got, "contimeout: 7\n") || !strings.Contains(got, "reqtimeout: 60\n") {
		t.Errorf("%s", got)
	}
	if r := a.run("farm", "set", "shop", "contimeout=0"); !strings.Contains(r.stderr, "(seconds), got 0") {
		t.Errorf("%+v", r)
	}
}

// All JSON output has the same form, including output composed from several responses.
func TestAnswersOfPartsHaveTheFormOfOthers(t *testing.T) {
	a := ready(t)
	for _, command := range []string{"backend show shop web 0 --json", "header list shop --json", "header list shop --service web --json", "rewrite list shop web --json", "farm show shop --json"} {
		var body struct {
			Description string
			Params      json.RawMessage
		}
		if err := json.Unmarshal([]byte(a.must(strings.Fields(command)...)), &body); err != nil || body.Description == "" || len(body.Params) < 2 {
			t.Errorf("%s: %v, %+v", command, err, body)
		}
	}
}

func TestBackendsAreRehearsedByTheirAddress(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var sent []call
	r.sees = bodySeer(&sent)
	r.run(-1, nil, "rehearse --backend shop/web/10.0.0.2:8080,shop/web/second,shop/web/0")
	if last := sent[len(sent)-1]; !strings.Contains(last.body, `["shop/web/1","shop/web/1","shop/web/0"]`) {
		t.Errorf("sent %+v", last)
	}
	if said, _ := r.run(-1, nil, "rehearse --backend shop/web/10.9.9.9"); said.code != 1 || !strings.Contains(said.stderr, `there is no backend "10.9.9.9"`) {
		t.Errorf("%+v", said)
	}
}

func TestSettingsThatNameSomethingAreCompleted(t *testing.T) {
	a := ready(t)
	a.must("check", "copy", "check_tcp", "alive")
	a.must("certificate", "upload", "shop", newPapers(t, "shop.example").full)
	for _, c := range []struct{ typed, want string }{
		{"service set shop web farmguardian=", "farmguardian=alive"},
		{"farm set shop certificates=", "certificates=shop.pem"},
		{"farm set shop certificates=a.pem,", "certificates=a.pem,shop.pem"},
		{"farm create x --profile ", "l4xnat"},
		{"timeline --kind ", "latency"},
	} {
		words := strings.Split(c.typed, " ")
		if got := a.must(append([]string{"__complete"}, words...)...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.typed, got, c.want)
		}
	}
}

func TestColumnsOfATerminalDoNotWrapWhatIsPiped(t *testing.T) {
	a := ready(t)
	want := a.must("farm", "list")
	t.Setenv("COLUMNS", "20")
	if got := a.must("farm", "list"); got != want {
		t.Errorf("piped:\n%s", got)
	}
}
