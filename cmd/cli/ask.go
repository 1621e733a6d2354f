package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// asking says when a command asks before it changes something.
type asking int

const (
	never asking = iota
	// always: what it deletes was named. Without a terminal it goes ahead.
	always
	// deleting: it asks if it deletes something, which was named. Without a terminal it
	// goes ahead.
	deleting
	// unnamed: it may delete more than was named. It asks if it does, and without a
	// terminal needs --yes for that.
	unnamed
	// forcing: it asks if the appliance refuses the change unless it is forced. Without a
	// terminal it needs --yes for that.
	forcing
)

// asksAlways are the verbs of commands that delete what they name.
var asksAlways = []string{"delete", "remove", "remove-farm", "flush", "clean", "factory", "logout", "end", "reset"}

// asks says when a command does.
func asks(cmd *cobra.Command) asking {
	switch name := nameOf(cmd); {
	case name == "system factory": // --force says it already
		return never
	case name == "transaction", name == "zone import":
		return deleting
	case slices.Contains([]string{"apply", "reload", "rollback", "backup apply"}, name):
		return unnamed
	case slices.Contains([]string{"certificate replace", "certificate restore"}, name):
		return forcing
	case slices.Contains(asksAlways, cmd.Name()):
		return always
	}
	return never
}

// confirmed asks whether a change is meant, where that is to be asked. It returns the
// request to make: it holds for what was shown only.
func (c *client) confirmed(ctx context.Context, r request) (request, error) {
	if c.running == nil || !r.changes() {
		return r, nil
	}
	how := asks(c.running.Command)
	if c.yes {
		if how == forcing {
			r = r.with("force", "true")
		}
		return r, nil
	}
	tty := c.asker()
	if how == never || how != unnamed && tty == nil {
		return r, nil
	}
	a, err := c.exchange(ctx, r.tried())
	if err != nil {
		return r, err
	}
	var body struct{ Params plan }
	if err := a.into(&body); err != nil {
		return r, err
	}
	if how == forcing {
		return c.askForced(r, tty, &body.Params)
	}
	if how != always && r.match == "" {
		r.match = a.header.Get("ETag")
	}
	if how != always && tty != nil && len(body.Params.Deletions) > 0 && !c.json {
		if err := c.printDiff(c.running.Command, body.Params.Diff); err != nil {
			return r, err
		}
		c.sawDiff = true
	}
	return r, c.ask(tty, &body.Params)
}

// asker is the terminal of whoever may be asked, nil without one. Where a document comes
// through the standard input, it is the one that messages go to.
func (c *client) asker() *os.File {
	cmd := c.running.Command
	if tty := keyboard(cmd); tty != nil {
		return tty
	}
	if f := cmd.Flags().Lookup("file"); f == nil || !slices.Contains([]string{"-", "[-]"}, f.Value.String()) || terminal.Of(cmd.ErrOrStderr()) == nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return tty // closed with the process: a command asks once
}

// errDeclined is the error of a change that somebody was asked about, and did not want.
var errDeclined = errors.New("nothing was changed")

// ask asks whether what would be deleted is meant, and returns an error if it is not.
func (c *client) ask(tty *os.File, p *plan) error {
	always := asks(c.running.Command) == always
	if !always && len(p.Deletions) == 0 {
		return nil
	}
	if tty == nil {
		return c.unasked(p)
	}
	out := c.running.ErrOrStderr()
	if mute, is := out.(*unheard); is {
		out = mute.to // who is asked must hear it
	}
	if err := printLines(out, p); err != nil {
		return err
	}
	return agreed(tty, out, question(c.running.String(), p, always))
}

// askForced asks whether a change is meant that the appliance makes only if it is forced. It
// returns the request that forces it.
func (c *client) askForced(r request, tty *os.File, p *plan) (request, error) {
	if p.NeedsForce == "" {
		return r, nil
	}
	if !c.json {
		if err := c.printDiff(c.running.Command, p.Diff); err != nil {
			return r, err
		}
	}
	out := c.running.ErrOrStderr()
	for _, w := range p.Warnings {
		if _, err := fmt.Fprintln(out, "Warning: "+show.Clean(w)); err != nil {
			return r, err
		}
	}
	return r.with("force", "true"), agreed(tty, out, c.running.String()+": are you sure? [y/N] ")
}

// agreed asks a question, and returns an error unless the answer is yes.
func agreed(tty *os.File, out io.Writer, question string) error {
	answer, err := (&terminal.Lines{In: tty, Out: out}).Read(show.Clean(question))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, terminal.ErrInterrupted):
		return errDeclined
	case err != nil:
		return err
	case slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))):
		return nil
	}
	return errDeclined
}

func question(command string, p *plan, always bool) string {
	if always {
		return fmt.Sprintf("%s: are you sure? [y/N] ", command)
	}
	return fmt.Sprintf("Delete %s? [y/N] ", counts(len(p.Deletions), "object"))
}

// mostNamed is how many deletions an error names.
const mostNamed = 10

// unasked refuses deletions that were not named, where there is nobody to ask.
func (c *client) unasked(p *plan) error {
	var names []string
	for i, d := range p.Deletions {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(p.Deletions)-i))
			break
		}
		names = append(names, d.behind(d.Kind+" "+d.Name))
	}
	remedy := "--yes if that is meant"
	if c.running.Flags().Lookup("merge") != nil {
		remedy += ", or --merge to keep what the document does not name"
	}
	return fmt.Errorf("nothing was changed, because this deletes %s: add %s", strings.Join(names, "; "), remedy)
}
