package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) tagCommand() *cobra.Command {
	cmd := parentCommand("tag", "Tag revisions, which keeps them", `  sluice tag create before-the-fair
  sluice tag list
  sluice rollback before-the-fair
  sluice tag delete before-the-fair`,
		c.tagCreate(), c.tagList(), c.tagDelete())
	cmd.Long = `Tag revisions. A tagged revision is kept however many follow it, and rollback
and diff accept the tag in place of its number.`
	c.asBefore(cmd)
	return cmd
}

// asBefore keeps the obsolete forms of the command: tag NAME [REVISION], tag --delete NAME
// and tag.
func (c *client) asBefore(cmd *cobra.Command) {
	remove := cmd.Flags().Bool("delete", false, "delete the tag")
	comment := cmd.Flags().String("comment", "", "purpose of the tag")
	for _, name := range []string{"delete", "comment"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	cmd.Args = atMost(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *remove && len(args) != 1:
			return usagef("--delete needs the name of one tag")
		case *remove:
			return c.remove(cmd, "history", "tags", args[0])
		case len(args) == 0:
			return c.listTags(cmd)
		}
		return c.newTag(cmd, args, *comment)
	}
}

func (c *client) tagCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME [REVISION]", Short: "Tag a revision, by default the newest",
		Example: "  sluice tag create before-the-fair\n  sluice tag create release-1.0 12 --comment 'as in the audit'",
		Args:    between(1, 2), ValidArgsFunction: c.completer([]argument{aWord, aRevision}, nil),
	}
	comment := cmd.Flags().String("comment", "", "purpose of the tag")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.newTag(cmd, args, *comment) }
	return cmd
}

func (c *client) newTag(cmd *cobra.Command, args []string, comment string) error {
	fields := map[string]any{"name": args[0]}
	if comment != "" {
		fields["comment"] = comment
	}
	if len(args) == 2 {
		n, err := revisionNumber(args[1])
		if err != nil {
			return err
		}
		fields["revision"] = n
	}
	return c.post(cmd, fields, "history", "tags")
}

func (c *client) tagDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a tag; its revision is no longer kept for it", Example: "  sluice tag delete before-the-fair",
		Args: exactly(1), ValidArgsFunction: c.completer([]argument{aTag}, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.remove(cmd, "history", "tags", args[0]) },
	}
}

func (c *client) tagList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tags and their revisions", Example: "  sluice tag list", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listTags(cmd) },
	}
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
	s := show.NewSheet("TAG", "REVISION", "TIME", "AUTHOR", "COMMENT")
	for _, t := range body.Params {
		s.Add(t.Name, t.Revision, when(t.Time), t.Author, t.Comment)
	}
	return c.print(cmd, s)
}
