package probe

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// secret says which part of a flag's value is secret.
type secret struct {
	after string // the secret follows this text; all is secret if it is "" or missing
	port  bool   // a port is no secret
}

// of returns the secret end of a value, "" if there is none.
func (s secret) of(value string) string {
	name, end, found := strings.Cut(value, s.after)
	switch {
	case value == HostToken || value == PortToken || s.port && isPort(value):
		return ""
	case s.after == "" || !found:
		return value
	case s.after == "=" && !secretive("-"+name): // one of several options, e.g. host=
		return ""
	}
	return strings.TrimLeft(end, " ")
}

// pluginSecrets lists the flags of other plugins with a secret, in addition to the flags of
// built-in checks. The names are in the format of Flags, with the text before the secret. A
// plugin with an empty list has no secrets.
var pluginSecrets = map[string]string{
	"check_breeze": "C community", "check_curl": "a:: authorization:: b:: proxy-authorization:: k:: header::", "check_dbi": "o:= option:=",
	"check_disk_smb": "p password", "check_hpjd": "C community", "check_http": "b:: proxy-authorization::", "check_ifoperstatus": "C community A authpass X privpass",
	"check_ifstatus": "C community A authpass X privpass", "check_mysql_query": "p password", "check_nt": "s secret", "check_snmp": "A authpasswd X privpasswd",
	"check_wave": "C community",

	"check_apt": "", "check_by_ssh": "", "check_cluster": "", "check_dhcp": "", "check_disk": "", "check_dummy": "", "check_file_age": "", "check_flexlm": "", "check_fping": "",
	"check_game": "", "check_host": "", "check_icmp": "", "check_ide_smart": "", "check_ircd": "", "check_load": "", "check_log": "", "check_mailq": "", "check_mrtg": "",
	"check_mrtgtraf": "", "check_nagios": "", "check_nrpe": "", "check_ntp_peer": "", "check_nwstat": "", "check_overcr": "", "check_procs": "", "check_real": "",
	"check_rpc": "", "check_rta_multi": "", "check_sensors": "", "check_ssh": "", "check_swap": "", "check_time": "", "check_ups": "", "check_uptime": "", "check_users": "",
}

// openly lists the long flags that only look like flags for secrets.
var openly = []string{"--authtype", "--authproto", "--ignore-auth"}

// secretive reports whether the value of a flag is a secret in any program.
func secretive(flag string) bool {
	flag = strings.ToLower(flag)
	return strings.HasPrefix(flag, "-") && !slices.Contains(openly, flag) &&
		slices.ContainsFunc([]string{"pass", "secret", "token", "community", "credential", "auth"}, func(word string) bool { return strings.Contains(flag, word) })
}

// guessed are the letters of flags that are treated as secret in unknown programs. In many
// of them -p is the port.
const guessed = "aAPXCp"

// secretFlags finds the secrets among the words of one program.
type secretFlags struct {
	check  *Flags // of a built-in check; nil: of another program
	plugin map[string]secret
	guess  bool // the program is unknown
}

func (k *Known) secretFlags(name string) (out secretFlags) {
	name = path.Base(name)
	if k != nil && k.Checks[name] != nil {
		out.check = &Flags{}
		k.Checks[name](out.check)
	}
	flags, listed := pluginSecrets[name]
	out.guess = out.check == nil && !listed
	out.plugin = map[string]secret{}
	for _, one := range strings.Fields(flags) {
		flag, after, _ := strings.Cut(one, ":")
		if len(flag) > 1 {
			flag = "-" + flag
		}
		out.plugin["-"+flag] = secret{after: after}
	}
	return out
}

// secretWords returns the secret part of the name and of each word. It is the whole word,
// its end, or "" for none.
func (k *Known) secretWords(name string, words []string) []string {
	flags := k.secretFlags(name)
	out := make([]string, 1+len(words))
	for i := 0; i < len(words); i++ {
		one, value, inNext := flags.find(words[i])
		if inNext && i+1 < len(words) {
			i++
			value = words[i]
		}
		if one != nil {
			out[i+1] = one.of(value)
		}
	}
	return out
}

// find returns the secret part of the value of a word's flag, nil for none. inNext reports
// whether the next word is that value.
func (s secretFlags) find(word string) (one *secret, value string, inNext bool) {
	switch {
	case strings.HasPrefix(word, "--"):
		return s.long(word)
	case len(word) < 2 || word[0] != '-':
		return nil, "", false
	case s.check != nil:
		if one, value, found := s.check.letters(word); found {
			return one.secret, value, one.takes == something && value == ""
		}
	}
	if one, is := s.plugin[word[:2]]; is {
		return &one, word[2:], len(word) == 2
	}
	return s.guesses(word)
}

func (s secretFlags) long(word string) (one *secret, value string, inNext bool) {
	name, value, given := strings.Cut(word, "=")
	if s.check != nil && s.check.known[name] != nil {
		known := s.check.known[name]
		return known.secret, value, known.takes == something && !given
	}
	if one, is := s.plugin[name]; is {
		return &one, value, !given
	}
	if secretive(name) {
		return &secret{}, value, !given
	}
	return nil, "", false
}

// guesses is find for other programs. It rather hides too many words than too few.
func (s secretFlags) guesses(word string) (one *secret, value string, inNext bool) {
	name, value, given := strings.Cut(word, "=")
	switch {
	case !s.guess:
		return nil, "", false
	case secretive(name):
		return &secret{}, value, !given
	case strings.IndexByte(guessed, word[1]) < 0:
		return nil, "", false
	}
	return &secret{port: word[1] == 'p'}, word[2:], len(word) == 2
}

// isPort reports whether a text is a port rather than a password.
func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// letters finds the flag in a word of several letters whose value is the rest of the word,
// or otherwise the last flag. The result found is false if the check lacks one of the
// letters.
func (f *Flags) letters(word string) (one *flag, value string, found bool) {
	for at := 1; at < len(word); at++ {
		if one = f.known["-"+word[at:at+1]]; one == nil {
			return nil, "", false
		}
		if one.takes != nothing {
			return one, word[at+1:], true
		}
	}
	return one, "", true
}
