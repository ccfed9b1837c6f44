package contextprofile

import (
	"golang.org/x/text/language"

	"github.com/stratamem/strata/internal/contexts/settingschema"
)

// Faults finds what is wrong with a profile, but for names that it cannot know and for its checks: see CheckFaults.
func (p Profile) Faults() settingschema.Faults {
	var fs settingschema.Faults
	settingschema.Check(&fs, &p, Fields())
	for _, f := range p.History.Faults() {
		f.Key = History + "." + f.Key
		fs = append(fs, f)
	}
	if h := p.History; h.Compresses() && len(h.Compress.Triggers) == 0 { // a call of the API may leave them out
		fs.Add("history.trigger", "", "the strategy %q is never applied: "+
			"set a trigger such as messages 100, or the strategy to none", h.Compress.Strategy)
	}
	p.Summaries.check(&fs)
	checkLanguage(&fs, "extraction.language", p.Extraction.Language)
	checkPrompt(&fs, "extraction.prompt", p.Extraction.Prompt, nil)
	return fs
}

func (s Summaries) check(fs *settingschema.Faults) {
	values := promptValues(s.MaxTokens, s.Language)
	checkPrompt(fs, "summaries.prompt", s.Prompt, values)
	checkPrompt(fs, "summaries.period-prompt", s.PeriodPrompt, values)
	checkLanguage(fs, "summaries.language", s.Language)
	s.checkFraction(fs, "summaries.trigger-fraction", s.TriggerFraction)
	s.checkFraction(fs, "summaries.keep-fraction", s.KeepFraction)
	s.checkKeeps(fs)
}

func checkLanguage(fs *settingschema.Faults, key, tag string) {
	if _, err := language.Parse(tag); tag != "" && err != nil {
		fs.Add(key, "", "it is no BCP 47 tag, such as en, de or pt-BR")
	}
}

func (s Summaries) checkFraction(fs *settingschema.Faults, key string, fraction float64) {
	if fraction > 0 && s.Window == 0 {
		fs.Add(key, "", "the window that it is a fraction of is not known: "+
			"set summaries.window to the tokens that your model reads, such as 128000, or count tokens instead")
		(*fs)[len(*fs)-1].Other = "summaries.window"
	}
}

// checkKeeps refuses to keep as much as a trigger fires at: there would be nothing to summarise.
func (s Summaries) checkKeeps(fs *settingschema.Faults) {
	const text = "%v is not below %s, %v: nothing would be left to summarise; keep less"
	if s.TriggerMessages > 0 && s.KeepMessages >= s.TriggerMessages {
		fs.Add("summaries.keep-messages", "", text, s.KeepMessages, "trigger-messages", s.TriggerMessages)
	}
	if s.TriggerTokens > 0 && s.KeepTokens >= s.TriggerTokens {
		fs.Add("summaries.keep-tokens", "", text, s.KeepTokens, "trigger-tokens", s.TriggerTokens)
	}
	if s.TriggerFraction > 0 && s.KeepFraction >= s.TriggerFraction {
		fs.Add("summaries.keep-fraction", "", text, s.KeepFraction, "trigger-fraction", s.TriggerFraction)
	}
}
