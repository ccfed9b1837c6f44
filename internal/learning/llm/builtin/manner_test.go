package builtin_test

import "testing"

func TestHowSomebodyWantsToBeSpokenToIsKept(t *testing.T) {
	for said, want := range map[string]string{
		"Be blunt with me.":                  "Be blunt with me.",
		"Please be brutally honest with me":  "Be brutally honest with me.",
		"Don't sugarcoat things.":            "Don't sugarcoat things.",
		"Skip the pleasantries.":             "Skip the pleasantries.",
		"Skip the pleasantries from now on.": "Skip the pleasantries from now on.",
		"Stop apologising so much.":          "Stop apologising so much.",
		"Treat me like an expert.":           "Treat me like an expert.",
		"Talk to me like I'm five.":          "Talk to me like I'm five.",
		"Sé directo conmigo.":                "Sé directo conmigo.",
		"No seas tan formal.":                "No seas tan formal.",
		"No me hables de usted.":             "No me hables de usted.",
		// of one answer, or of somebody else
		"Be honest with me, did I write that badly?": "", "Don't sugarcoat it.": "", "Don't be so hard on yourself.": "",
		"Be careful with the knife.": "", "Skip the intro.": "", "Be honest.": "", "My boss is blunt with me.": "Boss is blunt with them.",
		"Stop it.": "", "Treat me to a joke.": "", "Talk to me.": "",
	} {
		t.Run(said, func(t *testing.T) {
			got := ""
			for _, f := range learntOf(t, said) {
				got += f.Text
			}
			if got != want {
				t.Errorf("learnt %q, want %q", got, want)
			}
		})
	}
}
