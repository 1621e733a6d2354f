package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// furtherCommands are uses not covered by everyCommand: flags, other kinds of farms, names
// instead of numbers.
var furtherCommands = []string{
	"system clean",
	"farm create tls vip=192.0.2.10 vport=443 --profile https --contimeout 4", "farm create l4 --copy-from mail --vip 192.0.2.10 --vport 26", "farm set shop trusted=10.0.0.0/8 --trusted ::1 error503=null",
	"farm stop shop mail", "farm restart shop mail", "farm explain shop", "farm get dns", "service get shop web",
	"service create shop api urlp=^/api/ --routingpolicy LEAST_CONNECTIONS", "service set shop web persistence=COOKIE sessionid=SID",
	"session list shop web --limit 7 --session joe", "session create shop web joe 10.0.0.2:8080 --ttl 90", "session create shop web ann second", "session delete shop web joe", "session flush shop web",
	"session list mail --limit 1000", "session list mail --limit 1", "session list mail --limit 0", "session list mail --limit 1001",
	"backend create shop web [2001:db8::1]:80 weight=2", "backend add dns [2001:db8::2]", "backend add dns 10.0.0.9:54 alias=ninth", "backend set shop web second weight=null --connection-limit 9",
	"backend maintenance shop web 1 --mode cut", "backend maintenance shop web 1 --mode drain", "backend maintenance dns ninth --off", "backend delete dns ninth",
	"conn list dns --limit 1000", "conn list mail --limit 1", "conn list --limit 0", "conn list --limit 1001", "conn flush", "conn flush dns",
	"header add shop addresponseheader X-B:1 --service web", "header add shop replacerequestheader ^A$ b replace=", "header add shop replacerequestheader ^B$ b c", "header move shop replacerequestheader 1 0",
	"header set shop addresponseheader 0 X-B:2 --service web", "header delete shop addresponseheader 0 --service web", "header list shop --service web",
	"acme order www.example.com example.com --farmname shop --test", "acme order *.example.com --dns --vip 192.0.2.10", "acme renew www.example.com.pem", "acme renew www.example.com.pem --force --farmname shop",
	"acme delete www.example.com.pem", "acme config dns_servers=192.0.2.53:53 --dns-servers [2001:db8::1]:53 hook=null",
	"system config api_names=a.test,b.test --api-names c.test", "system config api_names=null", "key create for tests", "key delete 2",
	"explain mail --from 192.0.2.7:5353 --to 192.0.2.10:25 --protocol tcp", "explain shop /x -X PUT -H A:1 --header B:2 --sni b.test --from 192.0.2.7",
	"history --limit 2 --before 9", "diff", "diff 3", "diff 2 3", "rollback 3 --yes", "rollback --yes", "stats --watch=99ms", "stats shop --watch=often", "stats --watch --quiet", "farm list --quiet", "service create shop quiet --quiet", "key create --quiet", "farm lint --quiet", "farm show none --quiet", "farm stop shop mail --show-api", "farm list --show-api", "version --show-api", "check -f - --show-api", "user create eve --show-api", "farm stop shop mail --show-yaml", "service set shop web urlp=^/x --show-yaml", "session flush shop web --show-api", "apply -f - --show-yaml", "apply -f - --show-api", "farm start shop mail", "system dns --watch primary=192.0.2.53", "reload",
	"apply -f - --dry-run", "apply -f - --dry-run --json", "apply -f - --comment why --yes", "apply -f - --merge",
}

var (
	// socketPath matches the socket of a test.
	socketPath = regexp.MustCompile(`/\S*/mgmt\.sock`)
	secret     = regexp.MustCompile(`[0-9A-Za-z_-]{40,}`) // a key
	pemBlock   = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----.*?-----END [A-Z0-9 ]+-----`)
)

// steady normalises values that differ between runs.
func steady(text string) string {
	text = secret.ReplaceAllString(pemBlock.ReplaceAllString(text, "($1)"), "(secret)")
	return timestamp.ReplaceAllString(socketPath.ReplaceAllString(text, "/data/mgmt.sock"), "2026-01-01 00:00:00")
}

// changing are the commands whose output depends on the date, the machine, or the commands
// tried before them.
var changing = []string{"audit", "certificate list", "certificate show", "certificate ca show", "certificate activation"}

func isOneOf(command string, list []string) bool {
	return slices.ContainsFunc(list, func(c string) bool { return strings.HasPrefix(command, c) })
}

// asked returns a request of a command in one line.
func asked(r *http.Request, body []byte) string {
	out := r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/api/v4.0")
	for _, name := range []string{"Content-Type", "If-Match", "ZAPI_KEY"} {
		if v := r.Header[http.CanonicalHeaderKey(name)]; v != nil {
			out += " " + strings.Join(v, " and ")
		}
	}
	if r.UserAgent() != "sluice/unversioned" {
		out += " from " + r.UserAgent()
	}
	return strings.TrimSpace(out + " " + strings.ReplaceAll(pemBlock.ReplaceAllString(string(body), "($1)"), "\n", "\\n"))
}

// listen records the traffic of the relay: requests and the last response.
func (r *relay) listen(requests *[]string, last *bytes.Buffer) {
	r.sees = func(req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		*requests = append(*requests, asked(req, body))
	}
	r.answers = last
}

// All requests and output of every command.
func TestTranscriptOfEveryCommand(t *testing.T) {
	p := newPapers(t, "shop.example")
	for name, commands := range map[string][]string{"every": everyCommand(p), "further": furtherCommands} {
		a := ready(t)
		a.sessions.dynamic = []string{"192.0.2.8"}
		r := newRelay(t, a)
		var requests []string
		r.listen(&requests, nil)
		var all strings.Builder
		for _, command := range commands {
			requests = nil
			said, _ := r.run(-1, nil, command)
			if isOneOf(command, changing) {
				said.stdout = ""
			}
			if strings.HasPrefix(said.stdout, "SETTING") && (strings.HasPrefix(command, "farm ") || strings.HasPrefix(command, "service ")) {
				said.stdout = someSettings(t, said.stdout)
			}
			all.WriteString(steady("$ " + strings.ReplaceAll(command, p.dir, "papers") + "\n" + indented("> ", strings.Join(requests, "\n")) + indented("  ", said.stdout) + indented("! ", said.stderr)))
			if said.code != 0 {
				all.WriteString("exit " + string(rune('0'+said.code)) + "\n")
			}
		}
		golden(t, "transcript_"+name, all.String())
	}
}

func indented(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(mark+line, " \n") + "\n")
	}
	return out.String()
}

// ownJSON are the commands that do not print an unmodified response: they combine several,
// show a part, or wrap a file.
var ownJSON = []string{"backend show", "header list", "rewrite list", "certificate download", "certificate ca download", "certificate ca show", "certificate activation download", "farm restart"}

func TestJSONIsTheAnswerAsItCame(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var requests []string
	var last bytes.Buffer
	r.listen(&requests, &last)
	for _, command := range everyCommand(newPapers(t, "shop.example")) {
		if isOneOf(command, ownJSON) {
			continue
		}
		if said, _ := r.run(-1, nil, command+" --json"); said.code != 0 || said.stderr != "" || said.stdout != last.String() {
			t.Errorf("%s --json: exit %d %s\n%s\nwant:\n%s", command, said.code, said.stderr, said.stdout, &last)
		}
	}
}
