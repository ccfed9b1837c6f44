package intent

// What a statement may be made of, in English, Spanish, Korean, Japanese and Chinese. A feature alone accuses nobody:
// people work with payments, forget names and have access to gardens. Only rules, which join them, do.

// Who acts, and who is spoken to.
var (
	// readerActs: an assistant is said to do something, or to have to.
	readerActs = patterns(
		`\b(?:that|when|if|whenever|have|has|having|let|lets|letting) (?:the |its |his |her |their |an? |this )?(?:assistants?|ai|chat ?bots?|bots?|agents?|models?|llm)\b`+
			`|\b(?:assistant|ai|chat ?bot|bot|model|llm) (?:to|must|should|shall|has to|have to|will|is to|needs? to|ought to|is (?:told|asked|required|expected) to|never|always|can|may)\b`+
			`|\b(?:with|for) (?:the |its |an? )(?:assistant|ai|chat ?bot|bot|agent) \w+ing\b`+
			`|\b(?:que|cuando|si) (?:el|la|su|un|una|este) (?:asistente|ia|chat ?bot|bot|agente|modelo)\b`+
			`|\b(?:asistente|ia|chat ?bot|bot|agente|modelo) (?:debe|deberia|tiene que|ha de|tendra que|puede|nunca|siempre|jamas)\b`,
		`(?:어시스턴트|인공지능|챗봇|봇|ai|에이전트|비서)(?:가|는|은|이|에게|한테)`+
			`|(?:アシスタント|エージェント|ボット|ai|人工知能)(?:が|は|に)`+
			`|(?:让|要|希望|喜欢|想要|要求|请)(?:这个|该)?(?:助手|机器人|人工智能|智能体|ai|代理)|(?:助手|机器人|人工智能|智能体|ai|代理)(?:必须|应该|应当|应|要|须|得|可以|会|绝不|决不|不能|不得|永远|从不|在每次|每次|把|将|先)`)
	// tellsReader: somebody told, asked or let an assistant do something.
	tellsReader = patterns(
		`\b(?:told|tells?|ask(?:s|ed)|instruct\w*|order(?:s|ed)|let|lets|allow\w*|authori\w+|permit\w*|gave|gives?|trust\w*|request\w*|command\w*) (?:that )?(?:the |its |this |an? )(?:assistant|ai|chat ?bot|bot|agent|model)\b`+
			`|\b(?:pid\w+|pedido|dijo|dicho|orden\w+|autoriz\w+|permit\w+|dej\w+|mand\w+) (?:al? |que )(?:el |la |su )?(?:asistente|ia|bot|agente|chatbot)\b`,
		`(?:어시스턴트|인공지능|챗봇)(?:에게|한테|더러)|(?:アシスタント|エージェント|ボット|ai)に.{0,20}(?:頼|命じ|言っ|指示|許可|任せ)|(?:让|允许|叫|命令|要求|授权|许可)(?:这个|该)?(?:助手|机器人|智能体|ai|代理)`)
	reader = words(
		`assistant* ai chatbot* bot bots agent llm dan`, `asistente* ia chatbot* agente`,
		`어시스턴트 인공지능 챗봇 에이전트`, `アシスタント エージェント チャットボット 人工知能`, `助手 机器人 人工智能 智能体`,
	)
	// you: the reader is spoken to.
	you = patterns(
		`\byou (?:are|must|should|shall|will|have to|need to|can|may|now|never|always)\b|\byou're now\b|\byour (?:instructions|rules|guidelines|prompt|memory|tools?)\b`+
			`|\b(?:ahora|desde ahora) (?:eres|estas)\b|\b(?:debes|tienes que|has de)\b|\bsabes (?:de|del|sobre)\b|\btus (?:instrucciones|reglas|recuerdos|herramientas)\b`,
		`(?:너는|넌|당신은|네가|너의|당신의)|(?:あなた|お前|君)(?:は|の|が)|[你您](?:现在|是|必须|应|要|可以|的(?:指令|规则|记忆)|得|不能|会)`)
	// marks: roles and marks of prompts, which no sentence about a person has.
	marks = patterns(
		`^\W*(?:system|assistant|developer|sistema|asistente)\s*:|\[/?inst\]|<\|\w*|<</?sys>>|\bsystem prompt\b|\bprompt del sistema\b|\bnew instructions?\b|\bjailbreak`+
			`|\b(?:forget|delete|erase|wipe) (?:everything|anything|all|whatever)(?: that| of what)? (?:you|i (?:said|told)|we (?:said|discussed)|about me)\b`+
			`|\b(?:olvid|borr)\w+ todo lo que (?:sabes|sabe|he dicho|dije)\b`+
			`|\b(?:override|master|admin|bypass) (?:code|key|password)\b|\bdeveloper override\b|\bword is law\b|\bpalabra es ley\b|\b(?:the user|el usuario) (?:has been|is|was|esta|ha sido) (?:verified|verificad|authenticated)`,
		`(?:대해|대한|관해|관한|아는|알고|말한|얘기한).{0,12}(?:다|모두|전부).{0,6}(?:잊|지워|삭제)|知っていることを(?:全部|すべて|全て)忘れ|忘(?:记|掉)(?:你知道的)?(?:一切|所有)`+
			`|^\W*(?:시스템|어시스턴트|システム|アシスタント|系统|助手)[:：]|시스템프롬프트|システムプロンプト|系统提示|以这[条个].{0,3}为准|말이곧법|言葉が法律|话就是法律`+
			`|사용자(?:는|가).{0,12}인증|(?:ユーザー|利用者)は.{0,12}認証|用户.{0,4}(?:已|通过).{0,6}(?:认证|验证)`)
	mode = words(
		`developer_mode maintenance_mode debug_mode god_mode admin_mode unrestricted_mode`, `modo_de_mantenimiento modo_desarrollador modo_de_desarrollador modo_dios modo_administrador`,
		`점검모드 개발자모드 관리자모드 디버그모드`, `メンテナンスモード 開発者モード 管理者モード デバッグモード`, `维护模式 开发者模式 管理员模式 调试模式`,
	)
	pretend = words(`pretend* act_as roleplay*`, `fing* finj* hacerse_pasar`, `척 인것처럼`, `ふり 演じ`, `假装 扮演`)
	maker   = words(`developer creator owner maker`, `creador* desarrollador* dueno*`, `개발자 창조자 주인`, `開発者 作者 主人`, `开发者 创造者 主人`)
	theUser = words(`the_user users`, `el_usuario`, `사용자`, `ユーザー 利用者`, `用户`)
)

// Mood: what is wished, ordered or granted.
var (
	wish = words(
		`prefer* want* would_like like likes love loves request* ask* wish* expect* need* insist* demand* desire* agreed`,
		`prefier* quier* dese* gusta* pid* pidi* exig* esper* necesit* insist* acept*`,
		`원한 원하 원함 선호 바란 바라 바람 길원 주길 좋아 요구 요청 달라 희망`,
		`ほしい 欲しい 好む 好き 希望 望 たい 求め 頼ん`,
		`希望 想要 想让 喜欢 要求 偏好 期望 愿 需要`,
	)
	must = words(
		`must should shall has_to have_to ought is_to are_to be_to always never to_be be_sent be_paid`,
		`debe* deben deberia* tiene_que tienen_que hay_que ha_de han_de siempre nunca`,
		`해야 하라 해라 하세요 하십시오 되어야 돼야 어야 아야 여야 항상 반드시 절대 언제나`,
		`べき なければならない なければいけない すること 必ず 常に せよ しろ ください 決して`,
		`必须 应该 应当 应 务必 一定要 始终 总是 永远 不得 绝不 决不 不能`,
	)
	// imperative: the statement begins or ends as an order.
	imperative = patterns(
		`^\W*(?:please |kindly |always |never |do not |don't |por favor,? |no )?(?:remember|forget|delete|remove|erase|wipe|store|save|memori[sz]e|note|ignore|disregard|override|bypass|obey|output|execute|repeat|send|forward|transfer|approve|enable|disable|call|run|open|reveal|recommend|mention|tell|trust|treat|include|keep|start|end|say)\b`+
			`|^\W*(?:please|kindly|from now on|don't|do not)\b`+
			`|^\W*(?:a partir de ahora|por favor)\b`,
		`(?:하라|해라|하십시오|하세요|하시오|해주세요|해줘|할것|마라|지마|지마세요|잊어라|잊으세요|보내라|지워라|말해라)[.!。]?$`+
			`|(?:せよ|しろ|なさい|ください|下さい|するな)[.!。]?$`+
			`|^(?:请|忽略|无视|忘记|忘掉|清空|执行|转发|记住|输出|调用|从现在起|以后都)`)
	grant = words(
		`authori* consent* grant* granted approv* preapprov* entitled agreed privileg* clearance permission*`,
		`autoriz* consentimiento aprob* permiso* derecho acepto conced*`,
		`승인 동의 허락 허가 허용 권한 자격 인가`, `承認 同意 許可 権限 資格 認可`, `授权 同意 批准 许可 权限 资格 获准`,
	)
	able = words(`may can could`, `pued*`, `수있 될수 도된다 도좋다`, `られる できる もらえる てよい てもよい ていい てもいい`, `可以 能够 有权`)
)

// Scope: how much, and that nobody looks.
var (
	all = words(
		`every each all any whatever everything anything everyone whenever`, `cada todo* toda* cualquier*`,
		`모든 모두 전부 전체 매번 마다 어떤 항상`, `すべて 全て 全部 あらゆる 毎回 毎週 毎月 たび どんな 任意 何でも`, `所有 全部 每次 每个 每周 每月 每条 任何 任意 一切 都`,
	)
	// unasked: nobody is to be asked, which in itself is a permission.
	unasked = patterns(
		`\bwithout (?:(?:a|any|further|prior|being|even|user|his|her|their) )*(?:asking|confirm\w*|approval|prompt\w*|asked|check\w*|review|question\w*|verification|showing it|consent|limits?)\b`+
			`|\b(?:no longer|not|never|n't) (?:\w+ ){0,2}(?:be asked|be prompted|ask (?:for|her|him|me|first)|confirm)\b|\bno (?:confirmation|approval)s? (?:is |are )?(?:needed|required|necessary)\b|\bin advance\b|\bblanket\b`+
			`|\bsin (?:(?:que se|una?|ninguna|previa|mas|ningun) )*(?:(?:le |les |la |lo )?pregunt\w*|confirm\w*|aprobaci\w*|revis\w*|consult\w*|permiso|limites?)\b|\bde antemano\b`+
			`|\b(?:no|sin) (?:\w+ ){0,4}(?:pida|pidan|pedir|solicit\w*|haga falta|hace falta|preguntarle)\b.{0,20}(?:confirm\w*|permiso|pregunt\w*|antes)|\bno hace falta preguntar\w*`,
		`확인없이|묻지(?:않|말)|물어볼필요|물어보지|확인(?:을|를)?(?:요청|생략|하지)|승인없이|허락없이|사전에(?:허가|승인|동의)|미리(?:허가|승인|동의)|무단`+
			`|確認(?:なし|せず|を求め|する必要はな|は不要|しなくて)|聞かずに|承認なし|許可なし|無断|(?:事前に|あらかじめ|前もって)(?:同意|承認|許可)`+
			`|(?:无需|不用|不必|不需要?|不经|未经|不再|不用再)(?:再)?(?:确认|询问|问|批准|授权|同意)|不希望被(?:要求确认|询问)|预先(?:同意|授权|批准)|事先(?:同意|授权|批准)|没有确认`)
	// spared: nobody need ask first.
	spared = patterns(
		`\b(?:no longer needs?|need not|(?:does|do) not need|(?:doesn't|don't) need|not have) to be (?:asked|consulted|prompted)\b|\bno hace falta (?:preguntar|pedir|consultar)\w*|\bya no (?:hay que|es necesario) (?:preguntar|pedir|consultar)\w*`,
		`(?:물어볼|확인할|확인받을|허락받을)필요(?:가|는)?없|(?:確認する|聞く|尋ねる|許可を得る)必要(?:は|が)?(?:ない|ありません)|(?:不用|无需|不必|不需要)再?(?:问|询问|请示|征求)`)
	unchecked = words(
		`automatic* unlimited unrestricted standing unattended automatically up_to free_hand carte_blanche freely as_it_likes as_it_wishes`, `automatic* ilimitad* permanente* irrestrict* mano_libre carta_blanca libremente`,
		`무제한 자동으로 자동송금 미리 사전 제한없 마음대로 자유롭게`, `無制限 自動で 自動的 事前 あらかじめ 自由に 勝手に`, `无限 不受限制 自动 预先 事先 直接 随意 自由支配`,
	)
	newest = words(
		`previous prior earlier above before old past this_fact this_memory this_rule other others stored known`, `anterior* previ* este_dato este_recuerdo esta_regla demas otros guardad*`,
		`이전 예전 앞선 지금까지 이사실 이기억 이규칙 다른 저장된 오늘이전`, `以前 これまで 前の この事実 この記憶 この規則 他の 保存された`, `以前 之前 这条 此前 其他 别的 保存 今天`,
	)
	system    = words(`system*`, `sistema`, `시스템`, `システム`, `系统`)
	permanent = words(`permanent* forever at_the_top`, `permanente* para_siempre`, `영구 영원`, `永久 永遠`, `永久 永远`)
)

// Objects: what it is about.
var (
	talk = words(
		`message* conversation* chat chats repl* answer* response* transcript* document* file files record records everything data history inbox prompt*`,
		`mensaje* conversacion* chat chats respuesta* documento* archivo* datos historial lo_que_dice registro*`,
		`메시지 대화 답변 대답 문서 파일 기록 데이터 말한`, `メッセージ 会話 返信 回答 書類 文書 ファイル 記録 データ 話したこと チャット`, `消息 聊天 对话 回复 回答 文件 数据 说过 内容 短信`,
	)
	away = patterns(
		`\S+@\S+\.\S+|\b(?:external|outside|third[- ]party|webhooks?|telegram|bots?)\b|\b(?:another|other|second|new|different|secondary) (?:\w+ )?(?:address|account|mailbox|email|inbox|number)\b|\baudit team\b`+
			`|\bextern[oa]s?\b|\botr[oa] (?:cuenta|direccion|correo|buzon)\b|\bsegunda cuenta\b`,
		`외부|다른(?:메일|주소|계정|이메일)|웹훅|봇으로|텔레그램|外部|別の(?:アドレス|メール|アカウント)|ボット|ウェブフック|外部|另一个(?:邮箱|地址|账户|账号)|别的(?:邮箱|地址|账户)|机器人`)
	link = patterns(
		`(?:https?|ftp)://\S+|\bwww\.\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/\S+|\bwebhooks?\b`,
		`웹훅|ウェブフック`)
	links      = words(`link links url urls attachment*`, `enlace* adjunto*`, `링크 주소`, `リンク url`, `链接 网址`)
	image      = words(`image* pixel* render*`, `imagen* pixel*`, `이미지`, `画像`, `图片`)
	money      = words(`transfer* wire wired wires wiring refund* payment* paid invoice* remit* purchas*`, `transferenc* transferir* reembols* pago pagos paguen pague factura* giren gire giros girar compra compras`, `이체 송금 환불 결제 입금 구매`, `送金 振り込 振込 返金 支払 決済 購入`, `转账 汇款 汇到 汇给 汇 付款 退款 支付 打到 打款 购买`)
	purse      = words(`bank_account* credit_card* savings wallet`, `cuenta cuentas tarjeta billetera`, `계좌 신용카드 지갑`, `口座 クレジットカード 財布`, `账户 银行卡 信用卡 钱包`)
	account    = patterns(`\b[a-z]{2}\d{2}(?: ?[0-9a-z]{4}){3,}|\b0x[0-9a-f]{16,}|\b(?:account|iban|wallet|cuenta|billetera)(?: number| numero)?\W{1,3}(?:\w+ )?[\d][\d -]{5,}`, `(?:계좌|지갑).{0,4}[\d][\d-]{5,}|[\d][\d-]{5,}(?:계좌|지갑)|口座(?:番号)?\d{5,}|(?:账号|账户|卡号|钱包)\d{5,}`)
	credential = words(`password* passcode* pin card_number* credit_card_number* api_key* seed_phrase* credential*`, `contrasena* credencial* numero_de_la_tarjeta numero_de_tarjeta pin`, `비밀번호 카드번호 인증번호`, `パスワード カード番号 暗証番号`, `密码 卡号 验证码`)
	tool       = words(
		`tool tools shell terminal command* script scripts browser plugin* database* console api sudo`, `herramienta* consola terminal comando* navegador script* base_de_datos`,
		`도구 셸 쉘 명령 터미널 브라우저 데이터베이스 스크립트`, `ツール シェル ターミナル コマンド ブラウザ データベース スクリプト`, `工具 命令行 命令 终端 浏览器 数据库 脚本`,
	)
	code     = patterns(`\brm -r?f|\bdrop table\b|\b(?:delete|drop|wipe|send|exec|run|transfer|erase|purge)_\w+|\bsudo rm\b`, `(?:delete|drop|wipe|exec|erase|purge)_\w+`)
	database = words(`database*`, `base_de_datos bases_de_datos`, `데이터베이스`, `データベース`, `数据库`)
	memory   = words(
		`memory memories facts this_fact record records everything_known everything_learn* all_that_was_learn* this_note what_is_known remembered stored_information stored_facts known_about this_rule following_rule`,
		`memoria recuerdo* este_dato lo_guardado todo_lo_guardado lo_que_sabes recordarse esta_regla`,
		`기억 저장된 이사실 배운것 이규칙 정보는모두`, `記憶 保存された この事実 覚えた この規則`, `记忆 保存的 这条事实 学到 这条规则`,
	)
	instructions = words(
		`instruction* rule rules guideline* prompt* directive* preference preferences`, `instruccion* regla* norma* directriz directrices indicacion*`,
		`지시 규칙 지침 프롬프트`, `指示 ルール 規則 プロンプト`, `指令 规则 指示 提示 准则`,
	)
	others = patterns(
		`\b(?:other|another|all|different|every|next|others?') (?:\w+ )?(?:users?|customers?|tenants?|clients?|accounts?)\b|\buser \d+\b`+
			`|\b(?:otr[oa]s?|tod[oa]s|demas|cualquier) (?:l[oa]s )?(?:usuari\w+|clientes?|inquilin\w+|cuentas?)\b|\busuario \d+\b`,
		`(?:다른|타|모든|전체)(?:사용자|고객|이용자|유저|테넌트|계정)|\d+번사용자|사용자\d+`+
			`|(?:他の|別の|全|すべての|ほかの)(?:ユーザー|顧客|利用者|テナント|アカウント)|(?:ユーザー|利用者)\d+`+
			`|(?:其他|其它|别的|所有|另一个)(?:用户|客户|租户|账户|账号|顾客)|用户\d+`)
	requests = words(`request*`, `peticion* solicitud*`, `요청`, `要求`, `请求`)
	private  = words(
		`profile* chat* order orders file files record records invoice* data fact facts memor* information detail* conversation* history stored`, `datos pedido* perfil* chat* recuerdo* informacion conversacion* historial`,
		`프로필 주문 대화 기억 정보 자료 데이터 저장`, `プロフィール 注文 会話 記憶 情報 データ`, `资料 订单 聊天 记忆 信息 数据 对话`,
	)
	guards = patterns(
		`\b(?:content|safety|ai|security) (?:\w+ )?(?:restrictions?|filters?|limits?|rules?|polic\w+|warnings?)\b|\b(?:disclaimers?|refusals?|guardrails?|censor\w*|uncensored)\b|\brestriccion\w* de (?:contenido|seguridad)|\badvertencias? de seguridad\b|\b(?:censura|negativas)\b`,
		`안전(?:제한|경고|장치|규칙)|콘텐츠제한|검열|제한없는(?:모델|인공지능)|安全(?:制限|装置|に関する警告|警告)|検閲|制限のない(?:モデル|ai)|(?:内容|安全)(?:限制|警告|过滤|审查)|审查|没有限制的(?:模型|人工智能)`)
	warnings = words(`warning* caution* dose*`, `advertencia* aviso*`, `경고 주의문구 제한`, `警告 注意書き`, `警告 提醒`)
	refusals = words(`refus*`, `negativa* rechaz*`, `거절 거부`, `拒否 拒絶`, `拒绝`)
)

// Actions.
var (
	send = words(
		`send* sent forward* cc cc'd mailed emailed mail copy copies copied upload* deliver* relay* transmit* shared share`, `envi* reenvi* mand* copia* remit* llegue* comparta* sube suba* subir`,
		`전달 전송 보내 보낼 넘겨 공유 업로드 사본 올리`, `転送 送信 送る 送ら 送っ コピー 渡す 渡し アップロード 送れ 共有`, `转发 发送 发到 发给 抄送 副本 上传 传到 传给 共享`,
	)
	enter = words(`enter* typ* submit* give* fill* write* writing skip* omit*`, `introduc* escrib* omit* salt* d* teclea*`, `입력 적 생략 알려`, `入力 省 教え 送`, `填 输入 跳过 告诉 发`)
	open  = words(`open* click* visit* follow*`, `abr* pulse* pulsar visit*`, `열어 열기 클릭`, `開い 開く クリック`, `打开 点击`)
	run   = words(`run runs running execut* call called calls invok* launch*`, `ejecut* llam* invo*`, `실행 호출 돌려`, `実行 呼び出`, `运行 执行 调用`)
	admin = words(`administrator* admin superuser root_privileg* root_access root_rights sudo`, `administrador* superusuario`, `관리자 루트`, `管理者`, `管理员`)
	wipe  = words(`wipe* drop dropped reset* erase* truncate* empt*`, `vaci* borr* reinici*`, `초기화 삭제 비우`, `初期化 削除 消去`, `清空 删除 重置`)
	drop  = words(
		`forget* delet* eras* wip* drop dropped discard* overrid* outdated invalid false ignore* ignoring disregard* bypass* void prevail* priority obsolete outrank* supersed*`,
		`olvid* borr* elimin* descart* invalid* fals* ignor* prevalec* prioridad anul* desobede*`,
		`지우 삭제 잊 버려 버릴 무효 우선 거짓 무시 파기`, `消す 消し 削除 忘れ 破棄 無効 優先 誤り 無視`, `清除 删除 忘 丢弃 无效 优先 是假 假的 忽略 无视 作废`,
	)
	keep = words(`store* remember* stay* memori*`, `recordar* record* guard*`, `기억되어야 기억해야 저장해야`, `記憶されなければ 記憶すべき 覚えて`, `记住 记忆`)
	look = words(`see seeing view* read reading show* shown share* sharing access* receive* look*`, `ver leer muestr* mostr* comparte* acced* recib*`, `볼 열람 보여 알려 사용 공유 조회`, `見る 見せ 閲覧 共有 教え`, `查看 看到 看 显示 共享 共用 得到`)
	obey = words(`obey* decode* execut* comply`, `obedec* decodific*`, `복종 따라야 해독`, `従う 従わ 服従 解読`, `服从 听从 解码`)
	off  = words(
		`lift* without no not remove* disab* unnecessary left_out omit* skip* bypass* switched_off turned_off free_of leave_out ignore* unneeded`, `sin levant* omit* sobra* desactiv* no quita*`,
		`해제 필요없 없이 없는 생략 무시 끄`, `解除 不要 省 なし 無効 ない のない`, `解除 不需要 省略 没有 无 关闭 忽略 跳过`,
	)
	blob = patterns(`\b[a-z0-9+/]{16,}={1,2}|\b(?:[a-z]+\d+){4,}[a-z0-9+/]*\b|\bbase64\b`, ``)
	rate = patterns(
		`\b(?:rate|score|mark|rank)\b.{0,30}\b(?:10|ten|highest|maximum|important|critical)\b|\b(?:significance|importance|confidence)\b\W{0,3}(?:is|=|of|to|as|must be|should be)?\W{0,3}(?:10|ten|1\.0|max)`+
			`|\b(?:importancia|prioridad)\b\W{0,3}(?:es|=|de)?\W{0,3}(?:10|diez|max)`,
		`(?:중요도|점수).{0,12}(?:10|십|최고|최대)|重要度.{0,8}(?:10|最高|最大)|重要(?:度|性).{0,8}(?:10|十|最高|最大)`)
)

// How somebody wishes to be answered.
var (
	reply = words(
		`answer* repl* respon* explain* explanation* address* summar* speak* talk* write* called call`, `respuesta* respond* contest* explicaci* expli* trat* hable* habla*`,
		`답변 대답 답 응답 설명 말해 말투 호칭 불러`, `回答 返信 返事 答え 説明 話し 呼ん 口調`, `回答 回复 答复 解释 称呼 语气 说话`,
	)
	style = words(
		`short* brief* concise* terse long* detail* bullet* emoji* tone formal* informal* casual* humo* polite* simple simply plain* language english korean japanese chinese spanish german french dialect example* code markdown
			table* list* step_by_step first_name jargon heading* addressed dr mr ms prof metric paragraph* sentence* examples sources`,
		`cort* breve* concis* detallad* emoji* tono formal* informal* ejemplo* codigo lista* espanol ingles coreano japones chino tabla* usted tute* idioma sencill* simple* formales`,
		`짧 간결 간단 자세 이모티콘 이모지 존댓말 반말 말투 한국어 영어 일본어 중국어 스페인어 예제 예시 코드 표로 쉬운 쉽게 격식 목록`,
		`短 簡潔 簡単 詳し 絵文字 敬語 丁寧 日本語 英語 韓国語 中国語 例 コード 箇条書き タメ口 ため口 口調`,
		`简短 简洁 简单 详细 表情 语气 正式 中文 英文 英语 韩语 日语 例 代码 列表 敬语 口语`,
	)
	plea = patterns(
		`^\W*(?:please |always |never |do not |don't |from now on,? |por favor,? )*(?:answer|reply|respond|write|speak|talk|use|call|address|keep|explain)\b|^\W*(?:responde|contesta|habla)(?:me|nos)\b|^\W*(?:responde|contesta) (?:siempre )?en\b`,
		`(?:말해|대답해|답변해|답해|써|설명해)(?:줘|주세요|라|주기)|(?:話して|答えて|書いて)(?:ほしい|欲しい|ください|下さい|。?$)|使わないで(?:ほしい|欲しい|ください|下さい|。?$)|请?用.{1,6}(?:回答|回复)`)
)

// Small talk.
var (
	asks     = patterns(``, `[?？]\W*$|(?:습니까|ㅂ니까|나요|까요|니까|가요)[.!~]*$|(?:ですか|ますか|でしょうか|かな)[。.!]*$|[吗呢]。?$`)
	pleasant = words(
		`hi hello hey hiya yo thanks thank_you thank cheers bye goodbye see_you good_morning good_evening good_night good_afternoon morning night welcome sorry please ok okay sure yes no yeah yep nope lol haha hmm wow great nice cool
			good fine awesome perfect thx so_much very_much a_lot and there all everyone again too again well later take_care how_are_you what's_up how's_it_going see_you you have_a_nice_day have_a_good_day nice_to_meet_you`,
		`hola buenas buenos_dias buenas_tardes buenas_noches gracias muchas_gracias de_nada adios hasta_luego vale si no jaja claro perdon genial bien perfecto que_tal como_estas encantad* por_favor hasta_manana`,
		`안녕 안녕하세요 감사합니다 감사해요 고마워 고마워요 고맙습니다 네 응 아니요 ㅋㅋ ㅎㅎ 잘자 반가워 반갑습니다 미안 죄송합니다 수고하세요 좋아요 좋은아침`,
		`こんにちは こんばんは おはよう ございます ありがとう さようなら またね はい いいえ おやすみ なさい すみません ごめん よろしく お願いします 了解 笑`,
		`你好 您好 谢谢 多谢 再见 早上好 晚上好 晚安 好的 好 嗯 是的 不是 哈哈 对不起 没关系 拜拜 早`,
	)
)

// What matters whatever is asked.
var (
	name = patterns(
		`\b(?:is called|is named|goes by|(?:name|nickname|surname) is|is nicknamed)\b|\bse llama\b|\b(?:nombre|apodo|apellido) es\b`,
		`이름(?:은|이)|별명(?:은|이)|라고불|名前は|名字は|苗字は|と呼ばれ|名字(?:叫|是)|姓名是|名叫|的名字|叫做`)
	// health is what somebody must or must not eat, too.
	health = words(
		`allerg* asthma* diabet* insulin epilep* cancer* disease* illness* condition medication* medicine* pregnan* surgery disabilit* disabled blind deaf wheelchair celiac coeliac gluten
			lactose intoleran* depression anxiety migraine* heart_attack stroke blood_pressure blood_type autis* adhd dementia arthritis hiv hepatitis transplant* pacemaker anaphyla* chemotherapy dialysis diagnos* penicillin vegan* vegetarian* pescatarian halal kosher`,
		`alergi* asma* diabet* insulina epilep* cancer enfermedad* medicamento* medicina* embaraz* cirugia* operaron discapacidad* ciego ciega sordo sorda silla_de_ruedas celiac* gluten lactosa
			intoleran* depresion ansiedad migrana* infarto presion_arterial grupo_sanguineo autis* demencia artritis vih marcapasos diagnostic* penicilina vegan* vegetarian* halal kosher`,
		`알레르기 알러지 천식 당뇨 인슐린 뇌전증 간질 암진단 암투병 질환 질병 지병 복용 임신 수술 장애 휠체어 글루텐 유당 우울증 불안장애 편두통 심근경색 뇌졸중 고혈압 혈액형 채식 비건 할랄 자폐 치매 관절염 투석 진단`,
		`アレルギー 喘息 糖尿病 インスリン てんかん がん 病気 持病 服用 妊娠 手術 障害 車椅子 グルテン 乳糖 うつ病 不安障害 偏頭痛 心筋梗塞 脳卒中 高血圧 血液型 菜食 ビーガン ヴィーガン ベジタリアン ハラール 自閉 認知症 関節炎 透析 診断`,
		`过敏 哮喘 糖尿病 胰岛素 癫痫 癌 疾病 慢性病 服药 吃药 怀孕 手术 残疾 轮椅 麸质 乳糖 抑郁症 焦虑症 偏头痛 心梗 中风 高血压 血型 素食 吃素 清真 自闭 痴呆 关节炎 透析 诊断 失明 失聪`,
	)
	family = words(
		`wife husband spouse fiance* married marri* divorc* widow* daughter* son sons child children kid kids baby mother mom mum father dad parent* brother* sister* sibling* twin* grandmother grandfather grandma grandpa
			grandson granddaughter grandchild* uncle aunt cousin* niece nephew stepson stepdaughter partner* girlfriend boyfriend in-law* mother-in-law father-in-law family`,
		`esposa esposo marido mujer prometid* casad* cas* divorci* viud* hija* hijo* bebe madre mama padre papa padres herman* gemel* abuel* niet* tio tia prim* sobrin* pareja novi* suegr* familia`,
		`아내 남편 배우자 약혼 결혼 이혼 딸 아들 자녀 아이가 아기 엄마 어머니 아빠 아버지 부모 형이 형은 누나 오빠 언니 동생 쌍둥이 할머니 할아버지 손자 손녀 삼촌 이모 고모 사촌 조카 여자친구 남자친구 가족`,
		`妻 夫 配偶者 婚約 結婚 離婚 娘 息子 子供 子ども 赤ちゃん 母 父 両親 兄 弟 姉 妹 双子 祖母 祖父 孫 叔父 叔母 いとこ 従兄弟 甥 姪 彼女 彼氏 家族`,
		`妻子 丈夫 老公 老婆 配偶 订婚 结婚 离婚 女儿 儿子 孩子 婴儿 母亲 妈妈 父亲 爸爸 父母 哥哥 弟弟 姐姐 妹妹 双胞胎 奶奶 爷爷 外婆 外公 孙子 孙女 叔叔 阿姨 表哥 表弟 侄 女朋友 男朋友 家人 家庭`,
	)
)
