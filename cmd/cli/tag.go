package cli

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func (c *client) tagCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tag [NAME [REVISION]]", Short: "Name a revision, which is kept as long as it has a name",
		Long: `Name a revision, the newest when no number is given; without a name list them
all. A revision with a tag is kept, however many follow, and rollback and diff
take the tag for its number.`,
		Example: "  sluice tag before-the-fair\n  sluice tag release-1.0 12 --comment 'as in the audit'\n  sluice tag\n  sluice rollback before-the-fair\n  sluice tag --delete before-the-fair",
		Args:    atMost(2), ValidArgsFunction: cobra.NoFileCompletions,
	}
	remove := cmd.Flags().Bool("delete", false, "delete the tag")
	comment := cmd.Flags().String("comment", "", "what it is for")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *remove && len(args) != 1:
			return usagef("--delete takes the name of one tag")
		case *remove:
			path, err := pathOf("history", "tags", args[0])
			if err != nil {
				return err
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodDelete, path: path})
			if err != nil {
				return err
			}
			return c.say(cmd, a)
		case len(args) == 0:
			return c.listTags(cmd)
		}
		fields := map[string]any{"name": args[0]}
		if *comment != "" {
			fields["comment"] = *comment
		}
		if len(args) == 2 {
			n, err := revisionNumber(args[1])
			if err != nil {
				return err
			}
			fields["revision"] = n
		}
		a, err := c.send(cmd.Context(), http.MethodPost, "/history/tags", fields)
		if err != nil {
			return err
		}
		return c.say(cmd, a)
	}
	return cmd
}

func (c *client) listTags(cmd *cobra.Command) error {
	a, err := c.get(cmd.Context(), "/history/tags")
	if err != nil || c.json {
		return c.orJSON(cmd, a, err)
	}
	var body struct {
		Params []struct {
			Name, Author, Comment string
			Revision              uint64
			Time                  time.Time
		}
	}
	if err := a.into(&body); err != nil {
		return err
	}
	s := newSheet("TAG", "REVISION", "TIME", "AUTHOR", "COMMENT")
	for _, t := range body.Params {
		s.add(t.Name, t.Revision, when(t.Time), t.Author, t.Comment)
	}
	return c.print(cmd, s)
}
