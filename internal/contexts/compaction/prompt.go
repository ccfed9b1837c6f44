package compaction

import "strings"

// fillPrompt fills an own prompt. Messages follow it where it has no place for them, and the previous summary comes first
// among these. The words of people are filled in once and never read as marks of the prompt.
func fillPrompt(prompt, previous string, lines []line) string {
	said := transcript(lines)
	if previous != "" && !strings.Contains(prompt, "{previous}") {
		said = "summary of what came before: " + indented(previous) + "\n" + said
	}
	if !strings.Contains(prompt, "{messages}") {
		prompt = strings.TrimRight(prompt, "\n") + "\n\n{messages}"
	}
	return strings.NewReplacer("{messages}", said, "{previous}", previous).Replace(prompt)
}

// transcript is lines as "speaker: words". Further lines of words are indented, so that none can pass for another
// speaker's.
func transcript(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		speaker := strings.Join(strings.Fields(l.Speaker), " ")
		if speaker == "" {
			speaker = l.Role.String()
		}
		b.WriteString(speaker + ": " + indented(l.Text))
	}
	return b.String()
}

func indented(s string) string {
	return lineBreaks.Replace(s)
}

// lineBreaks are the characters that some reader takes for the end of a line.
var lineBreaks = strings.NewReplacer("\r\n", "\n  ", "\r", "\n  ", "\n", "\n  ", "\v", "\n  ", "\f", "\n  ",
	"\u0085", "\n  ", "\u2028", "\n  ", "\u2029", "\n  ")
