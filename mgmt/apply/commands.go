package apply

import (
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Passwords in the commands of checks are sealed word by word. Commands are stored, shown and
// compared with a token for each password. The token is only opened to create a probe.

// commandPurpose returns the purpose of a command's secret: only the same program can open it.
func commandPurpose(program string) string { return "check " + program + " command" }

// sealCommands seals all passwords in the commands of cfg. An unchanged password keeps its
// token, so that the document does not change.
func (a *Applier) sealCommands(old, cfg *farm.Config) error {
	for i := range cfg.Checks {
		c := &cfg.Checks[i]
		before := ""
		if at := farm.CheckAt(old.Checks, c.Name); at >= 0 {
			before = old.Checks[at].Command
		}
		if c.Command == before {
			continue
		}
		sealed, err := a.sealedCommand(before, c.Command)
		if err == nil && len(sealed) > check.MaxCommand {
			err = fmt.Errorf("is %d bytes long with its passwords sealed, %d at most are possible: write a shorter one", len(sealed), check.MaxCommand)
		}
		if err != nil {
			return &field.Error{Path: check.Path(c.Name), Field: "command", Message: "command " + err.Error()}
		}
		c.Command = sealed
	}
	return nil
}

func (a *Applier) sealedCommand(before, command string) (string, error) {
	return a.sealedWith(tokens(before), command)
}

// sealedWith returns a command with its passwords sealed. Known passwords keep their tokens.
func (a *Applier) sealedWith(known map[string][]farm.Secret, command string) (string, error) {
	return probe.Sealed(command, func(program, secret string) (string, error) {
		sealed, err := a.sealed(commandPurpose(program), known[program], farm.Secret(secret))
		switch {
		case errors.Is(err, errForeignSecret):
			return "", fmt.Errorf("has a password that was sealed by another appliance, or for another program than %s, and cannot be read here: write the password itself", program)
		case err != nil:
			return "", fmt.Errorf("has a password that %w", err)
		}
		return string(sealed), nil
	})
}

// tokens returns the secrets of a command, as written in it, by program.
func tokens(command string) map[string][]farm.Secret {
	out := map[string][]farm.Secret{}
	_, _ = probe.Sealed(command, func(program, secret string) (string, error) {
		out[program] = append(out[program], farm.Secret(secret))
		return secret, nil
	})
	return out
}

// SameCommand reports whether two commands are equal apart from the form of their passwords.
func SameCommand(s Secrets, a, b string) bool {
	if a == b {
		return true
	}
	x, errX := opened(s, a)
	y, errY := opened(s, b)
	return errX == nil && errY == nil && x == y
}

func opened(s Secrets, command string) (string, error) {
	return probe.Sealed(command, func(program, secret string) (string, error) {
		return Reveal(s, commandPurpose(program), farm.Secret(secret))
	})
}

// ParseCommand returns the probe for a command whose passwords may be sealed.
func ParseCommand(s Secrets, command string) (probe.Probe, error) {
	return probe.ParseSealed(command, func(program, secret string) (string, error) {
		plain, err := Reveal(s, commandPurpose(program), farm.Secret(secret))
		if err != nil {
			return "", errors.New("its password was sealed by another appliance, or for another program, and cannot be read here: change the command of the check")
		}
		return plain, nil
	})
}

// rewritten is the document that marks that no revision has an unsealed password in a command.
const rewritten = store.HistoryPrefix + "commands-sealed"

// sealHistory seals the passwords of commands that an older release stored unsealed, in the
// current and in older revisions. Equal commands get equal tokens, so that the diffs of the
// revisions stay correct.
func (a *Applier) sealHistory() {
	if a.secrets == nil {
		return
	}
	known, sealed := map[string]map[string][]farm.Secret{}, map[string]string{}
	n, err := a.store.RewriteChecks(rewritten, func(checks []farm.Check) error {
		for i := range checks {
			c := &checks[i]
			key := c.Name + " " + c.Command
			if _, done := sealed[key]; !done {
				if known[c.Name] == nil {
					known[c.Name] = map[string][]farm.Secret{}
				}
				sealed[key] = a.sealOld(known[c.Name], c)
			}
			c.Command = sealed[key]
		}
		return nil
	})
	switch {
	case err != nil:
		a.log.Error("passwords in commands of checks stay readable in the store", "error", err)
	case n > 0:
		a.log.Warn("passwords in commands of checks are sealed from now on: backups that were made before have them as they are", "revisions", n)
	}
}

// sealOld returns the sealed command of an older release, or the same command if sealing fails.
func (a *Applier) sealOld(known map[string][]farm.Secret, c *farm.Check) string {
	command, err := a.sealedWith(known, c.Command)
	if err == nil && len(command) > check.MaxCommand {
		err = errors.New("it is too long with its passwords sealed")
	}
	if err != nil {
		a.log.Warn("the password in the command of a check stays readable: change it", "check", c.Name, "reason", err)
		return c.Command
	}
	for program, tokens := range tokens(command) {
		known[program] = append(known[program], tokens...)
	}
	return command
}
