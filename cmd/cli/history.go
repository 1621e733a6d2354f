package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

type revision struct {
	Number                        uint64
	Time                          time.Time
	Author, Source, Comment, Diff string
	Tags                          []string
}

func historyCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history", Short: "List the revisions of the configuration, newest first",
		Example: "  sluice history\n  sluice history --limit 5 --before 100", Args: command.Exactly(0),
	}
	limit := cmd.Flags().Int("limit", 20, "how many")
	before := cmd.Flags().Uint64("before", 0, "only revisions with a lower number")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := url.Values{"limit": {strconv.Itoa(*limit)}}
		if *before > 0 {
			query.Set("before", strconv.FormatUint(*before, 10))
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/history", Query: query})
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params []revision }
		if err := a.Decode(&body); err != nil {
			return err
		}
		s := show.NewSheet("REVISION", "TIME", "AUTHOR", "SOURCE", "COMMENT")
		for _, r := range body.Params {
			s.Add(r.Number, command.FormatTime(r.Time), r.Author, r.Source, strings.TrimSpace(tagText(r.Tags)+r.Comment))
		}
		return c.Print(cmd, s)
	}
	return cmd
}

// tagText returns the tags of a revision as a prefix of its comment.
func tagText(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "[" + strings.Join(tags, ", ") + "] "
}

// newest returns the number of the newest revision.
func newest(c *command.Line, ctx context.Context) (uint64, error) {
	a, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: "/history", Query: url.Values{"limit": {"1"}}})
	if err != nil {
		return 0, err
	}
	var body struct{ Params []revision }
	if err := a.Decode(&body); err != nil {
		return 0, err
	}
	if len(body.Params) == 0 {
		return 0, fmt.Errorf("there is no revision yet: nothing has been configured")
	}
	return body.Params[0].Number, nil
}

func diffCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "diff [FROM] [TO]", Short: "Compare revisions of the configuration",
		Long: `Compare revisions of the configuration: the newest or a given revision with the
one before it, or two revisions. A tag may replace a number; now is the newest
revision.`,
		Example: "  sluice diff\n  sluice diff 12\n  sluice diff 7 12\n  sluice diff before-the-fair now",
		Args:    command.AtMost(2), ValidArgsFunction: completeRevisions(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, query, err := diffArguments(c, cmd, args)
			if err != nil {
				return err
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/history/" + to + "/diff", Query: query})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Diff string } }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.PrintDiff(cmd, body.Params.Diff)
		},
	}
}

// newestRevision is the word for the newest revision.
const newestRevision = "now"

// diffArguments parses the arguments of diff.
func diffArguments(c *command.Line, cmd *cobra.Command, args []string) (to string, query url.Values, err error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == newestRevision {
			n, err := newest(c, cmd.Context())
			if err != nil {
				return "", nil, err
			}
			args[i] = strconv.FormatUint(n, 10)
		} else if err := revisionOrTag(arg); err != nil {
			return "", nil, err
		}
	}
	switch len(args) {
	case 0:
		n, err := newest(c, cmd.Context())
		return strconv.FormatUint(n, 10), nil, err
	case 1:
		return args[0], nil, nil
	default:
		return args[1], url.Values{"from": {args[0]}}, nil
	}
}

// revisionOrTag refuses other words, because they could form another path.
func revisionOrTag(arg string) error {
	if first := arg[:min(1, len(arg))]; first >= "A" && first <= "z" && url.PathEscape(arg) == arg {
		return nil
	}
	_, err := revisionNumber(arg)
	return err
}

func revisionNumber(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 63)
	if err != nil {
		return 0, command.Usagef("%q is neither a revision number nor a tag", arg)
	}
	return n, nil
}

func rollbackCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "rollback [REVISION|TAG]", Short: "Roll back to an earlier revision",
		Long: `Roll back to an earlier revision, by default the one before the newest. Its
content becomes a new revision.`,
		Example: "  sluice rollback\n  sluice rollback 7\n  sluice rollback before-the-fair --confirm 5m",
		Args:    command.AtMost(1), ValidArgsFunction: completeRevisions(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			var to any
			var err error
			match := "" // the newest revision, if the earlier one depends on it
			if len(args) == 1 {
				if to, err = args[0], revisionOrTag(args[0]); err == nil {
					if n, no := strconv.ParseUint(args[0], 10, 63); no == nil {
						to = n
					}
				}
			} else {
				var n uint64
				n, err = newest(c, cmd.Context())
				to, match = max(n, 1)-1, strconv.Quote(strconv.FormatUint(n, 10))
			}
			if err != nil {
				return err
			}
			body, err := json.Marshal(map[string]any{"revision": to})
			if err != nil {
				return err
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: "/history/rollback", Body: body, IfMatch: match})
			if err != nil {
				return err
			}
			result, err := c.PrintDifference(cmd, a)
			if err != nil {
				return err
			}
			return c.PrintResult(cmd, a, result, false)
		},
	}
}

func completeRevisions(c *command.Line) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		out, how := c.Completer([]command.Argument{command.RevisionNumber, command.RevisionNumber}, nil)(cmd,
			args, toComplete)
		if len(out) == 0 {
			return nil, how
		}
		return out, how | cobra.ShellCompDirectiveKeepOrder
	}
}
