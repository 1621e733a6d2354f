package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func tagCommand(c *command.Line) *cobra.Command {
	cmd := command.Parent("tag", "Tag revisions, which keeps them", `  sluice tag create before-the-fair
  sluice tag list
  sluice rollback before-the-fair
  sluice tag delete before-the-fair`,
		tagCreate(c), tagList(c), tagDelete(c))
	cmd.Long = `Tag revisions. A tagged revision is kept however many follow it, and rollback
and diff accept the tag in place of its number.`
	asBefore(c, cmd)
	return cmd
}

// asBefore keeps the obsolete forms of the command: tag NAME [REVISION], tag --delete NAME
// and tag.
func asBefore(c *command.Line, cmd *cobra.Command) {
	remove := cmd.Flags().Bool("delete", false, "delete the tag")
	comment := cmd.Flags().String("comment", "", "purpose of the tag")
	for _, name := range []string{"delete", "comment"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	cmd.Args = command.AtMost(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *remove && len(args) != 1:
			return command.Usagef("--delete needs the name of one tag")
		case *remove:
			return c.Delete(cmd, "history", "tags", args[0])
		case len(args) == 0:
			return listTags(c, cmd)
		}
		return newTag(c, cmd, args, *comment)
	}
}

func tagCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME [REVISION]", Short: "Tag a revision, by default the newest",
		Example: "  sluice tag create before-the-fair\n  sluice tag create release-1.0 12 --comment 'as in the audit'",
		Args:    command.Between(1, 2), ValidArgsFunction: c.Completer([]command.Argument{command.FreeText,
			command.RevisionNumber}, nil),
	}
	comment := cmd.Flags().String("comment", "", "purpose of the tag")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return newTag(c, cmd, args, *comment) }
	return cmd
}

func newTag(c *command.Line, cmd *cobra.Command, args []string, comment string) error {
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
	return c.Post(cmd, fields, "history", "tags")
}

func tagDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a tag; its revision is no longer kept for it", Example: "  sluice tag delete before-the-fair",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.TagName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.Delete(cmd, "history", "tags", args[0]) },
	}
}

func tagList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tags and their revisions", Example: "  sluice tag list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listTags(c, cmd) },
	}
}

func listTags(c *command.Line, cmd *cobra.Command) error {
	a, err := c.Get(cmd.Context(), "/history/tags")
	if err != nil || c.JSON {
		return c.FinishJSON(cmd, a, err)
	}
	var body struct {
		Params []struct {
			Name, Author, Comment string
			Revision              uint64
			Time                  time.Time
		}
	}
	if err := a.Decode(&body); err != nil {
		return err
	}
	s := show.NewSheet("TAG", "REVISION", "TIME", "AUTHOR", "COMMENT")
	for _, t := range body.Params {
		s.Add(t.Name, t.Revision, command.FormatTime(t.Time), t.Author, t.Comment)
	}
	return c.Print(cmd, s)
}
