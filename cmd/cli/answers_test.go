package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Warnings of a response go to standard error.
func TestWarningsGoBesideTheAnswer(t *testing.T) {
	const document = `{"message":"done","warning":"w","params":{"revision":3,"unchanged":"false","diff":"-a\n+b\n","warnings":["one","t\u001bwo"],"problems":["three"]}}`
	const warned = "sluice: warning: one\nsluice: warning: t·wo\nsluice: warning: three\n"
	for command, want := range map[string]result{
		"apply -f -":           {0, "-a\n+b\nApplied as revision 3.\n", warned},
		"apply -f - --dry-run": {0, "-a\n+b\nDry run: nothing was changed.\n", warned},
		"reload":               {0, "-a\n+b\nApplied as revision 3.\n", warned},
		"rollback 2":           {0, "-a\n+b\nApplied as revision 3.\n", warned},
		"reload --json":        {0, document, ""},
		"farm stop a":          {0, "done\n", "sluice: warning: w\n"},
		"farm stop a --json":   {0, document, ""},
		"stats":                {0, "FARM  STATUS  ESTABLISHED  PENDING  QUEUED  REQUESTS  REQ/S  2XX  3XX  4XX  5XX  IN  OUT\n", "sluice: warning: w\n"},
	} {
		data := canned(t, map[string]string{"/config": document, "/config/reload": document, "/history/rollback": document, "/farms/a/actions": document, "/stats/farms": `{"warning":"w"}`})
		if got := execute("", append([]string{"--data", data}, strings.Fields(command)...)...); got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
}

// Completion is silent about unusable responses.
func TestCompletionWithoutAUsableAnswerOffersNothing(t *testing.T) {
	garbage := map[string]string{}
	for _, path := range []string{"/farms", "/farms/shop/summary", "/farms/mail/backends", "/certificates", "/certificates/ca", "/history"} {
		garbage[path] = "<html>"
	}
	for _, answers := range []map[string]string{{}, garbage, {"/farms/mail/summary": `{"params":{"profile":"l4xnat"}}`}} {
		data := canned(t, answers)
		for _, words := range [][]string{{"farm", "show"}, {"service", "show", "shop"}, {"backend", "show", "shop"}, {"backend", "show", "mail"}, {"certificate", "show"}, {"certificate", "ca", "show"}, {"rollback"}} {
			if r := execute("", append(append([]string{"--data", data, "__complete"}, words...), "")...); r.code != 0 || r.stdout != ":4\n" {
				t.Errorf("%v of %v: %+v", words, answers, r)
			}
		}
	}
}

// Valid JSON of another shape is refused.
func TestAnswersOfAnotherShapeAreRefused(t *testing.T) {
	for _, c := range []struct{ command, path, answer, want string }{
		{"service show shop web", "/farms/shop/services/web", `{"services":{"backends":7}}`, "invalid response of the appliance"}, {"service show shop web", "/farms/shop/services/web", `{"services":7}`, "invalid response of the appliance"},
		{"header list shop", "/farms/shop", `{"params":{"addheader":7}}`, "invalid response of the appliance"}, {"header list shop", "/farms/shop", `{"params":7}`, "invalid response of the appliance"},
		{"rewrite list shop web", "/farms/shop/services/web", `{"services":7}`, "invalid response of the appliance"}, {"rewrite list shop web", "/farms/shop/services/web", `{"services":{"rewriteurl":"x"}}`, "invalid response of the appliance"},
		{"backend show shop web 0 --json", "/farms/shop/services/web/backends", `{"params":7}`, "invalid response of the appliance"}, {"logs", "/status", `{"params":7}`, "invalid response of the appliance"}, {"logs", "/other", ``, "status 404"},
		{"diff", "/history", `{"params":[]}`, "there is no revision yet: nothing has been configured"}, {"rollback", "/history", `{}`, "there is no revision yet"},
		{"stats --watch", "/other", ``, "status 404"}, {"reload", "/config/reload", `7`, "invalid response of the appliance"}, {"certificate show a.pem", "/certificates/a.pem/status", `{"params":7}`, "invalid response of the appliance"},
		{"farm list", "/farms", ``, "invalid response of the appliance"}, {"farm list", "/other", ``, "the appliance responded with status 404"},
	} {
		r := execute("", append([]string{"--data", canned(t, map[string]string{c.path: c.answer})}, strings.Fields(c.command)...)...)
		if r.code != 1 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s of %s: %+v", c.command, c.answer, r)
		}
	}
}

func TestAListOfAliasesIsGivenAsTheAPIAnswersIt(t *testing.T) {
	a := ready(t)
	a.must("alias", "set", "10.0.0.1", "db-1")
	if got := a.must("alias", "list", "backends", "--json"); !strings.HasPrefix(got, "{") || !strings.Contains(got, `"db-1"`) {
		t.Errorf("got %s", got)
	}
	var both map[string]struct{ Params []struct{ ID, Alias string } }
	if err := json.Unmarshal([]byte(a.must("alias", "list", "--json")), &both); err != nil || len(both) != 2 || both["backends"].Params[0].Alias != "db-1" || len(both["interfaces"].Params) != 0 {
		t.Errorf("%v %v", both, err)
	}
	if r := a.run("alias", "list", "none"); r.code == 0 || r.stdout != "" {
		t.Errorf("an invalid list: %+v", r)
	}
}
