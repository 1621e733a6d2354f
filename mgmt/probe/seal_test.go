package probe_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
)

// sealing makes a token that contains the program and the secret.
func sealing(program, secret string) (string, error) {
	return "sealed-" + program + "-" + strings.ReplaceAll(secret, " ", "_"), nil
}

// The flags of built-in checks determine which words are secrets. For plugins of others a
// table does.
func TestPasswordsAreSealedWordByWord(t *testing.T) {
	all.Use()
	defer probe.Use(probe.Known{})
	for command, want := range map[string]string{
		`check_mysql -H HOST -u x -p s3cret`:                     `check_mysql -H HOST -u x -p sealed-check_mysql-s3cret`,
		`check_mysql -H HOST -u x -ps3cret -d db`:                `check_mysql -H HOST -u x -psealed-check_mysql-s3cret -d db`,
		`check_mysql --password='s3 cret' -P 3306`:               `check_mysql --password=sealed-check_mysql-s3_cret -P 3306`,
		`check_mysql --ssl -p s3cret --ignore-auth --password x`: `check_mysql --ssl -p sealed-check_mysql-s3cret --ignore-auth --password sealed-check_mysql-x`,
		`check_pgsql -l x --password s3cret`:                     `check_pgsql -l x --password sealed-check_pgsql-s3cret`,
		`check_http -a ann:s3cret -p PORT`:                       `check_http -a ann:sealed-check_http-s3cret -p PORT`,
		`check_http -a ann: -p 80`:                               `check_http -a ann: -p 80`,
		`check_http -k 'X-Key: s3 cret' -A agent`:                `check_http -k 'X-Key: sealed-check_http-s3_cret' -A agent`,
		`check_http -A -a -P x`:                                  `check_http -A -a -P x`,
		`check_http --proxy-authorization=ann:s3cret`:            `check_http --proxy-authorization=ann:sealed-check_http-s3cret`,
		`check_http -b ann:s3cret -I HOST`:                       `check_http -b ann:sealed-check_http-s3cret -I HOST`,
		`check_curl -a ann:s3cret -S`:                            `check_curl -a ann:sealed-check_curl-s3cret -S`,
		`check_ldap -D cn=x -P s3cret -3`:                        `check_ldap -D cn=x -P sealed-check_ldap-s3cret -3`,
		`/usr/lib/nagios/plugins/check_ldaps -P s3cret`:          `/usr/lib/nagios/plugins/check_ldaps -P sealed-check_ldaps-s3cret`,
		`check_snmp -C c0mm -P 2c -o 1.3`:                        `check_snmp -C sealed-check_snmp-c0mm -P 2c -o 1.3`,
		`check_snmp -P 3 -a SHA -A s3cret -X other -U me`:        `check_snmp -P 3 -a SHA -A sealed-check_snmp-s3cret -X sealed-check_snmp-other -U me`,
		`check_radius -p s3cret --secret shared -n nas`:          `check_radius -p sealed-check_radius-s3cret --secret sealed-check_radius-shared -n nas`,
		`check_smtp -A PLAIN -U x -P s3cret -C 'a b'`:            `check_smtp -A PLAIN -U x -P sealed-check_smtp-s3cret -C 'a b'`,
		`check_sip --username x --password s3cret -R HOST`:       `check_sip --username x --password sealed-check_sip-s3cret -R HOST`,
		`check_redis -a s3cret`:                                  `check_redis -a sealed-check_redis-s3cret`,
		`check_mqtt -u x -P "s3\"cret"`:                          `check_mqtt -u x -P 'sealed-check_mqtt-s3"cret'`,
		`check_dbi -o host=db -o password=s3cret -d mysql`:       `check_dbi -o host=db -o password=sealed-check_dbi-s3cret -d mysql`,
		`check_nt -s s3cret -p 1248 -v CPULOAD`:                  `check_nt -s sealed-check_nt-s3cret -p 1248 -v CPULOAD`,
		`check_nrpe -H HOST -c check_load -a 5,4 -p 5666`:        `check_nrpe -H HOST -c check_load -a 5,4 -p 5666`,
		`check_procs -C nginx -a x -P 5 -p 1`:                    `check_procs -C nginx -a x -P 5 -p 1`,
		`mine -p 8080 -a s3cret -p other --auth-token=third`:     `mine -p 8080 -a sealed-mine-s3cret -p sealed-mine-other --auth-token=sealed-mine-third`,
		`check_tcp -H HOST -p PORT -s hello`:                     `check_tcp -H HOST -p PORT -s hello`,
		`nmap -sU -p PORT HOST | grep open`:                      `nmap -sU -p PORT HOST | grep open`,
		`check_mysql -p HOST`:                                    `check_mysql -p HOST`,
	} {
		if got, err := probe.Sealed(command, sealing); err != nil || got != want {
			t.Errorf("%s becomes\n%s, wanted\n%s (%v)", command, got, want, err)
		}
		if shown := probe.Masked(command); strings.Contains(shown, "s3") {
			t.Errorf("%s is shown as %s", command, shown)
		}
	}
	// The placeholder in a template is no secret: every operator sees it and replaces it.
	for _, one := range probe.Templates() {
		if got, err := probe.Sealed(one.Command, sealing); err != nil || got != one.Command {
			t.Errorf("the template %s becomes %s", one.Command, got)
		}
	}
	if _, err := probe.Sealed("check_mysql -p s3cret", func(string, string) (string, error) { return "", errors.New("no key") }); err == nil || err.Error() != "no key" {
		t.Errorf("sealing fails: %v", err)
	}
	if _, err := probe.Sealed("check_mysql -p 's3cret", sealing); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a command that cannot be parsed: %v", err)
	}
}

func TestSealedPasswordsAreOpenedBeforeACommandIsRead(t *testing.T) {
	var host, password probe.Text
	probe.Use(probe.Known{Checks: map[string]probe.Make{"check_x": func(f *probe.Flags) func() (probe.Probe, error) {
		f.Text(&host, "H host")
		f.SecretAfter(&password, ":", "a auth")
		return func() (probe.Probe, error) {
			if len(password) > 12 {
				return nil, errors.New("the password is too long")
			}
			return answers(func(context.Context, probe.Say) error { return nil }), nil
		}
	}}})
	defer probe.Use(probe.Known{})
	const command = "check_x -a ann:sealed-XXXXXXXXXXXXXXXX -H sealed-XXXXXXXXXXXXXXXX"
	open := func(program, secret string) (string, error) {
		if program != "check_x" || secret != "sealed-XXXXXXXXXXXXXXXX" {
			return "", errors.New("not that")
		}
		return `a "b' $c`, nil
	}
	if _, err := probe.ParseSealed(command, open); err != nil || password != `ann:a "b' $c` || host != "sealed-XXXXXXXXXXXXXXXX" {
		t.Errorf("%q %q %v", password, host, err)
	}
	if _, err := probe.ParseSealed(command, func(string, string) (string, error) { return "", errors.New("no key") }); err == nil || err.Error() != "no key" {
		t.Errorf("a secret that cannot be opened: %v", err)
	}
	if err := probe.Check(command); err != nil { // a token may be longer than the password
		t.Errorf("sealed: %v", err)
	}
	if err := probe.Check("check_x -a"); err == nil {
		t.Error("a command that is none is accepted")
	}
	if err := probe.Check(strings.Repeat("a", 4000)); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long name is quoted in full: %v", err)
	}
}
