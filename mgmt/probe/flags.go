package probe

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Flags holds the flags of one check. A check declares each flag with the variable that the
// flag sets. Names are given as "H hostname": a name of one letter is -H, a longer one is
// --hostname.
type Flags struct {
	check string
	known map[string]*flag
	// limit is the time limit of the command itself (-t). slow is the limit for the answer
	// (-w, -c). 0 is no limit.
	limit, slow time.Duration
	// word takes a word that belongs to no flag; nil: such words are not allowed.
	word func(word string) error
}

// flag is one flag. takes says whether it has a value.
type flag struct {
	takes  takes
	secret *secret // nil: the value is not secret
	set    func(value string) error
}

type takes int8

const (
	nothing   takes = iota
	something       // -p 80, -p80, --port 80, --port=80
	maybe           // --ssl, --ssl=1.2
)

// UnknownFlag is the error of a command with a flag that the check does not have.
type UnknownFlag struct{ Check, Flag string }

func (e *UnknownFlag) Error() string {
	return fmt.Sprintf("%s has no flag %s here", e.Check, e.Flag)
}

func (f *Flags) add(names string, one flag) {
	if f.known == nil {
		f.known = map[string]*flag{}
	}
	for _, name := range strings.Fields(names) {
		if len(name) == 1 {
			name = "-" + name
		} else {
			name = "--" + name
		}
		f.known[name] = &one
	}
}

// Bool declares a flag without a value.
func (f *Flags) Bool(to *bool, names string) {
	f.add(names, flag{set: func(string) error { *to = true; return nil }})
}

// Ignore declares a flag without effect, e.g. -v.
func (f *Flags) Ignore(names string) {
	f.add(names, flag{set: func(string) error { return nil }})
}

// Text declares a flag with a text.
func (f *Flags) Text(to *Text, names string) {
	f.add(names, flag{takes: something, set: func(v string) error { *to = Text(v); return nil }})
}

// Secret declares a flag with a text that is secret as a whole.
func (f *Flags) Secret(to *Text, names string) { f.SecretAfter(to, "", names) }

// SecretAfter declares a flag with a text that is secret after the first occurrence of the
// text after, e.g. the password in name:password. Without that text all of the value is
// secret.
func (f *Flags) SecretAfter(to *Text, after, names string) {
	f.SecretValue(names, after, func(v string) error { *to = Text(v); return nil })
}

// Texts declares a flag that may be given repeatedly.
func (f *Flags) Texts(to *[]Text, names string) {
	f.add(names, flag{takes: something, set: func(v string) error { *to = append(*to, Text(v)); return nil }})
}

// Value declares a flag whose value is read by set.
func (f *Flags) Value(names string, set func(value string) error) {
	f.add(names, flag{takes: something, set: set})
}

// SecretValue declares a flag like Value whose value is secret, or only its part after a
// text ("" for all of it). Errors of set must not contain the secret. set must accept
// another text in place of the secret.
func (f *Flags) SecretValue(names, after string, set func(value string) error) {
	f.add(names, flag{takes: something, secret: &secret{after: after}, set: set})
}

// Maybe declares a flag whose value is optional and directly follows it: --ssl, --ssl=1.2,
// -S1.2.
func (f *Flags) Maybe(names string, set func(value string) error) {
	f.add(names, flag{takes: maybe, set: set})
}

// Int declares a flag with a number from least to most.
func (f *Flags) Int(to *int, least, most int, names string) {
	f.Value(names, func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q is no number from %d to %d", v, least, most)
		}
		*to = n
		return nil
	})
}

// Host declares a flag for the host to connect to: HOST, an address or a name.
func (f *Flags) Host(to *Host, names string) {
	f.Value(names, func(v string) error { return HostWord(to, v) })
}

// HostWord reads the host in a command.
func HostWord(to *Host, v string) error {
	if !hostlike(v) {
		return fmt.Errorf("%q is no host: write HOST for the backend, or an address or a name", v)
	}
	*to = Host(v)
	return nil
}

func hostlike(s string) bool {
	plain := s != "" && len(s) <= 253 && s[0] != '-'
	for i := range len(s) {
		plain = plain && (wordly(s[i]) || strings.IndexByte("-.:%", s[i]) >= 0)
	}
	return plain
}

// Port declares a flag with PORT or a number. The value of to is the default.
func (f *Flags) Port(to *Port, names string) { f.Value(names, to.Set) }

// Path declares a flag with the path of a page and its query.
func (f *Flags) Path(to *Text, names string) {
	f.Value(names, func(v string) error {
		if u, err := url.ParseRequestURI(v); err != nil || u.Host != "" || !strings.HasPrefix(v, "/") {
			return fmt.Errorf("%q is no path: it begins with /", v)
		}
		*to = Text(v)
		return nil
	})
}

// Pattern declares a flag with a regular expression. The text before is put before it.
func (f *Flags) Pattern(to **regexp.Regexp, before, names string) {
	f.Value(names, func(v string) (err error) {
		if *to, err = regexp.Compile(before + v); err != nil {
			return fmt.Errorf("%q is no pattern (RE2): %w", v, err)
		}
		return nil
	})
}

// Words sets a function for words that belong to no flag, e.g. the host in the commands of
// some plugins.
func (f *Flags) Words(take func(word string) error) { f.word = take }

// Version declares -4 and -6, which select the address family if a command names a host.
func (f *Flags) Version(to *string) {
	for _, v := range []string{"4", "6"} {
		f.add(v+" use-ipv"+v, flag{set: func(string) error { *to = v; return nil }})
	}
}

// maxSeconds is the longest time that a command may wait for.
const maxSeconds = 3600

// Seconds declares a flag with a time, e.g. 5 or 0.2.
func (f *Flags) Seconds(to *time.Duration, names string) {
	f.Value(names, func(v string) error {
		n, err := strconv.ParseFloat(strings.TrimSuffix(v, "s"), 64)
		if err != nil || !(n > 0) || n > maxSeconds {
			return fmt.Errorf("%q is no time in seconds: more than 0, at most %d", v, maxSeconds)
		}
		*to = time.Duration(n * float64(time.Second))
		return nil
	})
}

// Limit declares -t, the time limit of the whole check.
func (f *Flags) Limit() {
	f.Seconds(&f.limit, "t timeout")
	f.Ignore("v verbose")
}

// Times declares -t, -w and -c. An answer that takes longer than the shorter of -w and -c
// counts as a failure: plugins end with 1 or 2 then, and only 0 is healthy.
func (f *Flags) Times() {
	f.Limit()
	for _, names := range []string{"w warning", "c critical"} {
		var one time.Duration
		f.Seconds(&one, names)
		inner := f.known["-"+names[:1]].set
		f.Value(names, func(v string) error {
			err := inner(v)
			if f.slow == 0 || one < f.slow {
				f.slow = one
			}
			return err
		})
	}
}

// Parse sets the flags from the words of a command. take is called for each word that is no
// flag. If take is nil, such words are an error.
func (f *Flags) Parse(args []string, take func(word string) error) error {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		var err error
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2:
			args, err = f.long(word, args)
		case strings.HasPrefix(word, "-") && len(word) > 1:
			args, err = f.short(word, args)
		case take != nil:
			err = take(word)
		default:
			// The word may be a part of an unquoted password, so the error omits it.
			err = fmt.Errorf("%s: a word belongs to no flag: quote values that have blanks", f.check)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) long(word string, args []string) (rest []string, err error) {
	name, value, given := strings.Cut(word, "=")
	one := f.known[name]
	switch {
	case one == nil:
		return nil, &UnknownFlag{f.check, name}
	case given && one.takes == nothing:
		return nil, fmt.Errorf("%s: %s takes no value", f.check, name)
	case !given && one.takes == something:
		if len(args) == 0 {
			return nil, fmt.Errorf("%s: %s wants a value", f.check, name)
		}
		value, args = args[0], args[1:]
	}
	return args, f.give(name, one, value)
}

// short reads -p 80, -p80, and several letters without values in one word.
func (f *Flags) short(word string, args []string) (rest []string, err error) {
	for at := 1; at < len(word); at++ {
		name := "-" + word[at:at+1]
		one, value := f.known[name], word[at+1:]
		switch {
		case one == nil:
			return nil, &UnknownFlag{f.check, name}
		case one.takes == nothing:
			if err := f.give(name, one, ""); err != nil {
				return nil, err
			}
			continue
		case one.takes == something && value == "":
			if len(args) == 0 {
				return nil, fmt.Errorf("%s: %s wants a value", f.check, name)
			}
			value, args = args[0], args[1:]
		}
		return args, f.give(name, one, value)
	}
	return args, nil
}

func (f *Flags) give(name string, one *flag, value string) error {
	if err := one.set(value); err != nil {
		return fmt.Errorf("%s: %s: %w", f.check, name, err)
	}
	return nil
}
