package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// rewriteKind is the list of URL rewrites, which only services have.
var rewriteKind = kindOf(&httpfarm.Rewrites)

func rewriteCommand(c *command.Line) *cobra.Command {
	return command.Parent("rewrite", "Manage the URL rewrites of a service", `  sluice rewrite list shop web
  sluice rewrite create shop web '^/old/(.*)' '/new/$1'
  sluice rewrite create shop web '^/shop' '' last=true
  sluice rewrite move shop web 1 0`,
		rewriteList(c), rewriteAdd(c), rewriteSet(c), rewriteDelete(c), rewriteMove(c))
}

const rewriteHelp = `

PATTERN is a regex that is searched in path and query; the match is replaced by
REPLACE, in which $1 to $9 are its groups. A matching rule with last=true ends
the list. Give the values in this order or as NAME=VALUE (pattern, replace,
last).`

func rewriteList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM SERVICE", Short: "List the URL rewrites of a service in their order", Args: command.Exactly(2),
		Example: "  sluice rewrite list shop web\n  sluice rewrite list shop web --json", ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printRules(c, cmd, []ruleKind{rewriteKind}, args[0], args[1], show.NewSheet("ID", "PATTERN", "REPLACE", "LAST"),
				func(_ string, r aRule) []any { return []any{r.ID, r.Pattern, r.Replace, r.Last} })
		},
	}
}

func rewriteAdd(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "create FARM SERVICE PATTERN REPLACE [last=true]", Aliases: []string{"add"}, Short: "Add a URL rewrite at the end of the list", Args: command.AtLeast(4),
		Long:    "Add a URL rewrite at the end of the list." + rewriteHelp,
		Example: "  sluice rewrite create shop web '^/old/(.*)' '/new/$1'\n  sluice rewrite create shop web pattern='^/shop' replace= last=true", ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addRule(c, cmd, rewriteKind, args[0], args[1], args[2:])
		},
	}
}

func rewriteSet(c *command.Line) *cobra.Command {
	return ofRevision(&cobra.Command{
		Use: "set FARM SERVICE ID NAME=VALUE…", Short: "Change a URL rewrite", Args: command.AtLeast(4),
		Long:    "Change a URL rewrite." + rewriteHelp + placeHelp,
		Example: "  sluice rewrite set shop web 0 last=true\n  sluice rewrite set shop web 0 '^/old/(.*)' '/newer/$1'", ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return setRule(c, cmd, rewriteKind, args[0], args[1], args[2], args[3:])
		},
	})
}

func rewriteDelete(c *command.Line) *cobra.Command {
	return ofRevision(&cobra.Command{
		Use: "delete FARM SERVICE ID", Short: "Delete a URL rewrite; later ones move up", Args: command.Exactly(3),
		Long:    "Delete a URL rewrite; later ones move up." + placeHelp,
		Example: "  sluice rewrite delete shop web 0", ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return deleteRule(c, cmd, rewriteKind, args[0], args[1], args[2])
		},
	})
}

func rewriteMove(c *command.Line) *cobra.Command {
	return ofRevision(&cobra.Command{
		Use: "move FARM SERVICE ID POSITION", Short: "Move a URL rewrite to another position, from 0", Args: command.Exactly(4),
		Long:    "Move a URL rewrite to another position, from 0." + placeHelp,
		Example: "  sluice rewrite move shop web 1 0", ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return moveRule(c, cmd, rewriteKind, args[0], args[1], args[2], args[3])
		},
	})
}
