package probe

import (
	"path"
	"strings"
)

// Sealed returns the command with each secret replaced by the result of seal, which also
// gets the program of the secret. A command without secrets, or one that is a template of
// every appliance, is not changed.
func Sealed(command string, seal func(program, secret string) (string, error)) (string, error) {
	for _, t := range Templates() {
		if command == t.Command {
			return command, nil
		}
	}
	return known.Load().replace(command, seal)
}

// ParseSealed is Parse for a command with sealed secrets. open opens them one by one.
func ParseSealed(command string, open func(program, secret string) (string, error)) (Probe, error) {
	k := known.Load()
	if k == nil {
		return nil, ErrNone
	}
	return k.parse(command, open)
}

// Check returns the error of Parse for a command, without looking at the secrets, which may
// be sealed. In a process that has not called Use, it returns nil.
func Check(command string) error {
	k := known.Load()
	if k == nil {
		return nil
	}
	_, err := k.parse(command, func(string, string) (string, error) { return "x", nil })
	return err
}

// replace returns a command with other secrets.
func (k *Known) replace(command string, by func(program, secret string) (string, error)) (string, error) {
	s, err := split(command)
	switch {
	case plain(command) != command, len(s.words) == 0 && err == nil:
		return command, nil // these have no secrets
	case err != nil:
		return "", err
	}
	written, rest := "", command
	secrets := k.secretWords(s.words[0], s.words[1:])
	for i, raw := range s.raw {
		before, after, _ := strings.Cut(rest, raw)
		written, rest = written+before, after
		if old := secrets[i]; old != "" { // [0] is the name, which is no secret
			now, err := by(path.Base(s.words[0]), old)
			if err != nil {
				return "", err
			}
			if now != old {
				raw = quoted(strings.TrimSuffix(s.words[i], old) + now)
			}
		}
		written += raw
	}
	return written + rest, nil
}

// quoted quotes a word so that split reads it as the same word.
func quoted(word string) string {
	if strings.IndexFunc(word, func(r rune) bool { return r >= 0x80 || !wordly(byte(r)) && !strings.ContainsRune("-+=:,./@%*", r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}
