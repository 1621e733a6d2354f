package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// uncalled are the write operations without a command, with the reason.
var uncalled = map[string]string{
	"DELETE /farms/{farm}/sessions/{session}":                    "asked for by a parameter: a session may have what no path has",
	"DELETE /farms/{farm}/services/{service}/sessions/{session}": "asked for by a parameter, too",
	"POST /session":                  "log-in of a browser: commands have a key, or the local socket",
	"DELETE /session":                "its end",
	"POST /session/confirm":          "for sessions only: commands have a key, or the local socket",
	"POST /certificates/pkcs12":      "upload opens the file itself, so that its password stays on the client",
	"POST /certificates/pem":         "what a form of the family sends; upload sends the same as files",
	"POST /rbac/oidc":                "as PUT",
	"POST /rbac/ldap":                "as PUT",
	"POST /rbac/services":            "as PUT",
	"POST /config":                   "as PUT",
	"POST /system/global":            "as PUT",
	"POST /system/rsyslog":           "the family's path for the first server of system syslog",
	"POST /system/https/certificate": "the family's path for system http certificate=FILE",
	"POST /aliases/backends":         "as PUT of one",
	"POST /aliases/interfaces":       "as PUT of one",
}

// moreWrites are writes that no other test makes; only the request is checked.
var moreWrites = []string{
	"farm copy shop copied vport=8089", "tag create fair", "tag delete fair", "alias set 10.0.0.1 db-1", "alias delete 10.0.0.1", "alias set eth0 office", "alias delete eth0",
	"user totp enrol", "user totp disable", "user totp reset tim", "user set root zapi_permissions=true", "user oidc config enabled=false", "user ldap config host=ldap.example", "user ldap test",
	"user services ldap=false", "user sessions end 7", "user sessions end --all", "cloud login aws AKIDEXAMPLE000000000 eu-west-1", "cloud logout", "pending --undo", "confirm 3", "transaction -f -", "acme set a.pem --renew=false",
	"notification test", "notification webhook create ops url=https://hooks.test/in", "notification webhook set ops severity=warning", "notification webhook secret ops", "notification webhook test ops", "notification webhook delete ops", "notification cluster prefix=x", "notification interfaces interfaces=eth0", "notification syslog severity=warning", "notification scripts kinds=farm-start", "system dns primary=", "system ntp server=", "system ssh port=22", "system snmp status=false", "system http port=4444", "system proxy http_proxy=", "system syslog servers=",
	"geoip upload /dev/null", "geoip delete",
	"backup create monday", "backup upload monday /dev/null", "backup apply monday", "backup delete monday",
	"backend create dns 10.0.0.9:53", "backend set dns 0 weight=2", "backend maintenance dns 0", "backend delete dns 0", "session create shop web joe 0", "session delete shop web joe", "session flush shop web",
	"acme order a.test --farmname shop", "acme renew a.pem", "acme delete a.pem", "certificate ca crl clients --none", "system factory --force",
	"farm create names vip=127.0.0.1 vport=5300 profile=gslb", "zone create names example.com", "zone set names example.com ttl=60", "zone import names example.com testdata/db.example.com", "record create names example.com www A 192.0.2.1", "record set names example.com 1 ttl=5", "record bulk names example.com testdata/records.json",
	"record delete names example.com 2", "zone set names example.com dnssec=ed25519", "zone key add names example.com", "zone key use names example.com 1", "zone key delete names example.com 1", "zone set names example.com dnssec=off --force", "zone delete names example.com --force",
	"check create alive", "check copy check_tcp own", "check set alive interval=5", "check link alive shop web", "check unlink alive shop web", "check link alive dns", "check unlink alive dns",
	"check run check_tcp 10.0.0.1 80", "check delete alive", "rehearse --farm shop", "certificate restore shop.pem",
}

// sameAs are lists whose operations have a second path or method.
var sameAs = []*regexp.Regexp{
	regexp.MustCompile(`^\w+ /certificates/letsencrypt(/|$)`),                     // letsencryptz without autorenewal
	regexp.MustCompile(`^POST /system/notifications/(methods/email|alerts/\w+)$`), // same as PUT
}

// Every write operation of the API has a command.
func TestEveryWriteOfTheAPIHasACommand(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var sent []call
	r.sees = bodySeer(&sent)
	for _, command := range append(everyCommand(newPapers(t, "shop.example")), furtherCommands...) {
		r.run(-1, nil, command)
	}
	r = newRelay(t, ready(t)) // the previous commands deleted all farms
	r.sees = bodySeer(&sent)
	for _, command := range append(writesOfRules(), moreWrites...) {
		r.run(-1, nil, command)
	}
	called := func(method, path string) bool {
		form := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/?]+`) + `(\?|$)`)
		return slices.ContainsFunc(sent, func(c call) bool { return c.method == method && form.MatchString(c.address) })
	}
	found := map[string]bool{}
	n := 0
	for path, methods := range a.openAPI().Paths {
		for method := range methods {
			name := strings.ToUpper(method) + " " + path
			found[name] = true
			if method == "get" || strings.HasSuffix(path, "/explain") || slices.ContainsFunc(sameAs, func(of *regexp.Regexp) bool { return of.MatchString(name) }) {
				continue
			}
			n++
			switch is := called(strings.ToUpper(method), path); {
			case !is && uncalled[name] == "":
				t.Errorf("no command calls %s: add one, or list it here with the reason", name)
			case is && uncalled[name] != "":
				t.Errorf("a command calls %s, which is listed as uncalled", name)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d operations were looked at", n)
	}
	for name := range uncalled {
		if !found[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// writesOfRules returns writes of each list of header rules of farm and service.
func writesOfRules() (out []string) {
	for _, kind := range []string{"addrequestheader X:1", "removerequestheader ^X", "replacerequestheader A b c", "addresponseheader X:1", "removeresponseheader ^X", "replaceresponseheader A b c"} {
		name, value, _ := strings.Cut(kind, " ")
		for _, of := range []string{"", " --service web"} {
			out = append(out, "header create shop "+kind+of, "header set shop "+name+" 0 "+value+of)
			if strings.HasPrefix(name, "replace") {
				out = append(out, "header move shop "+name+" 0 0"+of)
			}
			out = append(out, "header delete shop "+name+" 0"+of)
		}
	}
	return out
}
