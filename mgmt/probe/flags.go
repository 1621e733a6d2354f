package probe

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Flags are those of one check, and what came of them. A check declares each with the
// variable it sets; names are given as "H hostname": one letter for -H, more for
// --hostname.
type Flags struct {
	check string
	known map[string]*flag
	// limit is the time the command itself allows (-t), slow the answer's (-w, -c); 0 for none.
	limit, slow time.Duration
	// word takes a word that belongs to no flag; nil: there are to be none.
	word func(word string) error
}

// flag is one of them. takes says whether it has a value.
type flag struct {
	takes  takes
	secret *secret // nil: everybody may see its value
	set    func(value string) error
}

type takes int8

const (
	nothing   takes = iota
	something       // -p 80, -p80, --port 80, --port=80
	maybe           // --ssl, --ssl=1.2
)

// UnknownFlag says which word of a command is no flag of the check.
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

// Bool is a flag without a value.
func (f *Flags) Bool(to *bool, names string) {
	f.add(names, flag{set: func(string) error { *to = true; return nil }})
}

// Ignore is a flag that changes nothing here, such as -v.
func (f *Flags) Ignore(names string) {
	f.add(names, flag{set: func(string) error { return nil }})
}

// Text is a flag with a text.
func (f *Flags) Text(to *Text, names string) {
	f.add(names, flag{takes: something, set: func(v string) error { *to = Text(v); return nil }})
}

// Secret is a text nobody is shown.
func (f *Flags) Secret(to *Text, names string) { f.SecretAfter(to, "", names) }

// SecretAfter is a text of which nobody is shown what follows the first such text in it,
// as the password in name:password; all of it where it has none.
func (f *Flags) SecretAfter(to *Text, after, names string) {
	f.SecretValue(names, after, func(v string) error { *to = Text(v); return nil })
}

// Texts is a flag that may be given repeatedly.
func (f *Flags) Texts(to *[]Text, names string) {
	f.add(names, flag{takes: something, set: func(v string) error { *to = append(*to, Text(v)); return nil }})
}

// Value is a flag with a value of the check's own kind.
func (f *Flags) Value(names string, set func(value string) error) {
	f.add(names, flag{takes: something, set: set})
}

// SecretValue is Value for one that nobody is shown, or not what follows a text in it (""
// for all of it); errors must not have it. It has to take another text in its place.
func (f *Flags) SecretValue(names, after string, set func(value string) error) {
	f.add(names, flag{takes: something, secret: &secret{after: after}, set: set})
}

// Maybe is a flag that may have a value right behind it: --ssl, --ssl=1.2, -S1.2.
func (f *Flags) Maybe(names string, set func(value string) error) {
	f.add(names, flag{takes: maybe, set: set})
}

// Int is a number from least to most.
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

// Host is whom to connect to: HOST, an address or a name.
func (f *Flags) Host(to *Host, names string) {
	f.Value(names, func(v string) error { return HostWord(to, v) })
}

// HostWord reads a host that a command names.
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

// Port is PORT or a number. What is in to already is the default.
func (f *Flags) Port(to *Port, names string) { f.Value(names, to.Set) }

// Path is the path of a page, with its query.
func (f *Flags) Path(to *Text, names string) {
	f.Value(names, func(v string) error {
		if u, err := url.ParseRequestURI(v); err != nil || u.Host != "" || !strings.HasPrefix(v, "/") {
			return fmt.Errorf("%q is no path: it begins with /", v)
		}
		*to = Text(v)
		return nil
	})
}

// Pattern is a regular expression; before is put before it.
func (f *Flags) Pattern(to **regexp.Regexp, before, names string) {
	f.Value(names, func(v string) (err error) {
		if *to, err = regexp.Compile(before + v); err != nil {
			return fmt.Errorf("%q is no pattern (RE2): %w", v, err)
		}
		return nil
	})
}

// Words takes words that belong to no flag, such as the host some plugins accept there.
func (f *Flags) Words(take func(word string) error) { f.word = take }

// Version is -4 and -6: the addresses that count, when a command names a host.
func (f *Flags) Version(to *string) {
	for _, v := range []string{"4", "6"} {
		f.add(v+" use-ipv"+v, flag{set: func(string) error { *to = v; return nil }})
	}
}

// maxSeconds bounds what a command may wait for.
const maxSeconds = 3600

// Seconds is a time, such as 5 or 0.2.
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

// Limit is -t, the time the whole check may take.
func (f *Flags) Limit() {
	f.Seconds(&f.limit, "t timeout")
	f.Ignore("v verbose")
}

// Times is -t, and -w and -c: an answer that takes longer than the shorter of them
// counts as none, since plugins end with 1 or 2 then, and only 0 is healthy.
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

// Parse sets what the words say. Words that are no flags are left to take one by one;
// take is nil when there are to be none.
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
			// It may be a piece of a password that was not quoted: not shown.
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

// short takes -p 80, -p80, and letters without values in a row.
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
